import Foundation
import Glibc
import MartletCompression

/// Reads the records of a spool in order.
struct SpoolReader: Sendable {
    struct Portion: Sendable {
        var records: [[UInt8]] = []
        /// The position after each record.
        var ends: [SpoolPosition] = []
        /// The position after the last record, or after damage that follows it.
        var end: SpoolPosition
        /// Damaged segments. The records after the damage in a segment cannot be read.
        var damaged: [Int] = []
    }

    let folder: SpoolFolder

    /// Reads records after a position; an empty portion means there are none.
    ///
    /// - Parameters:
    ///   - limit: The end of the acknowledged records; nil reads to the end of the last segment, where a record may be
    ///     torn.
    func read(from start: SpoolPosition, upTo limit: SpoolPosition?, count: Int, sizeInBytes: Int) throws -> Portion {
        var portion = Portion(end: start)
        var size = 0
        let segments = folder.segments().filter { $0 >= start.segment && $0 <= limit?.segment ?? .max }
        for number in segments {
            if portion.end.segment != number { portion.end = SpoolPosition(segment: number, offset: 0) }
            let isLast = number == limit?.segment || limit == nil && number == segments.last
            let file = try SegmentFile(folder.path(of: number))
            let end = number == limit?.segment ? limit?.offset ?? 0 : file.length
            while portion.end.offset < end {
                guard portion.records.count < count, size < sizeInBytes else { return portion }
                guard let record = try file.record(at: portion.end.offset, end: end) else {
                    // A torn record at the end was never acknowledged; anywhere else it is damage.
                    if !isLast || limit != nil { portion.damaged.append(number) }
                    portion.end.offset = end
                    break
                }
                portion.records.append(record)
                portion.end.offset += SpoolRecord.headerLength + record.count
                portion.ends.append(portion.end)
                size += record.count
            }
        }
        return portion
    }
}

/// A segment being read.
private final class SegmentFile {
    let length: Int
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SpoolError.system("open") }
        length = max(0, Int(lseek(descriptor, 0, SEEK_END)))
    }

    deinit { close(descriptor) }

    /// The record at the offset; nil if there is no complete record.
    func record(at offset: Int, end: Int) throws -> [UInt8]? {
        guard let header = SpoolRecord.header(try read(min(SpoolRecord.headerLength, end - offset), at: offset)) else {
            return nil
        }
        let start = offset + SpoolRecord.headerLength
        guard start + header.length <= end else { return nil }
        let record = try read(header.length, at: start)
        return record.count == header.length && Checksum.crc32(record) == header.checksum ? record : nil
    }

    private func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        try Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let length = pread(
                    descriptor, buffer.baseAddress?.advanced(by: initialized), count - initialized,
                    off_t(offset + initialized))
                if length < 0 && errno == EINTR { continue }
                guard length >= 0 else { throw SpoolError.system("pread") }
                if length == 0 { return }
                initialized += length
            }
        }
    }
}
