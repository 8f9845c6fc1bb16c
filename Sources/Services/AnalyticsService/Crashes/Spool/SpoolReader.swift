import Foundation
import Glibc
import MartletCompression

/// Reads the records of a spool in order.
struct SpoolReader: Sendable {
    struct Portion: Sendable {
        var records: [[UInt8]] = []
        /// Behind each of them.
        var ends: [SpoolPosition] = []
        /// Behind the last of them, and behind damage there.
        var end: SpoolPosition
        /// Segments with something in them that is no record; what is behind it there cannot be read.
        var damaged: [Int] = []
    }

    let folder: SpoolFolder

    /// Some records behind a position: none at the end.
    ///
    /// - Parameters:
    ///   - limit: up to where there are records; nil: to the end of the last segment, where a record may be torn.
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
                    // What was never acknowledged may be torn; anything else is damage.
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

/// A segment that is read.
private final class SegmentFile {
    let length: Int
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SpoolError.system("open") }
        length = max(0, Int(lseek(descriptor, 0, SEEK_END)))
    }

    deinit { close(descriptor) }

    /// Nil: there is no whole record.
    func record(at offset: Int, end: Int) throws -> [UInt8]? {
        guard let header = SpoolRecord.header(try read(min(SpoolRecord.headerLength, end - offset), at: offset)) else { return nil }
        let start = offset + SpoolRecord.headerLength
        guard start + header.length <= end else { return nil }
        let record = try read(header.length, at: start)
        return record.count == header.length && Checksum.crc32(record) == header.checksum ? record : nil
    }

    private func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        try Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let got = pread(descriptor, buffer.baseAddress?.advanced(by: initialized), count - initialized, off_t(offset + initialized))
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw SpoolError.system("pread") }
                if got == 0 { return }
                initialized += got
            }
        }
    }
}
