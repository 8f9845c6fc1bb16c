import Foundation
import Glibc
import MartletCompression

/// The layout of a record in a segment: a magic number, the length (4 bytes) and CRC-32 (4 bytes) of the record, then
/// the record.
enum SpoolRecord {
    static let magic: [UInt8] = Array("MCR1".utf8)
    static let headerLength = 12
    static let maximumLength = 128 << 20

    static func append(_ record: [UInt8], to bytes: inout [UInt8]) {
        bytes += magic
        withUnsafeBytes(of: UInt32(record.count).bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: Checksum.crc32(record).bigEndian) { bytes.append(contentsOf: $0) }
        bytes += record
    }

    /// The length and checksum in a header; nil if the bytes are not a header.
    static func header(_ bytes: [UInt8]) -> (length: Int, checksum: UInt32)? {
        guard bytes.count == headerLength, bytes.starts(with: magic) else { return nil }
        func number(_ range: Range<Int>) -> UInt32 { bytes[range].reduce(0) { $0 << 8 | UInt32($1) } }
        let length = Int(number(4..<8))
        return length <= maximumLength ? (length, number(8..<12)) : nil
    }
}

/// A segment being written. Used by one thread at a time, not always the same one.
final class SpoolFile: @unchecked Sendable {
    let number: Int
    private(set) var length = 0
    private let path: String
    private let descriptor: Int32

    init(_ number: Int, in folder: SpoolFolder) throws {
        self.number = number
        path = folder.path(of: number)
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SpoolError.system("open") }
        do {
            try Self.synchronize(directory: folder.path)
        } catch {
            removeIfEmpty()
            throw error
        }
    }

    deinit { close(descriptor) }

    /// Deletes the segment if it is empty. While the disk is full, each attempt to write creates an empty segment.
    func removeIfEmpty() {
        if length == 0 { unlink(path) }
    }

    /// When this method returns, the bytes survive a power loss. After an error, removes the bytes again as far as the
    /// disk allows.
    func append(_ bytes: [UInt8]) throws {
        do {
            try write(bytes)
            guard fdatasync(descriptor) == 0 else { throw SpoolError.system("fdatasync") }
            length += bytes.count
        } catch {
            _ = ftruncate(descriptor, off_t(length))
            throw error
        }
    }

    private func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = pwrite(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count,
                    off_t(length + bytes.count - rest.count))
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { throw SpoolError.system("write") }
                rest = rest.dropFirst(written)
            }
        }
    }

    static func synchronize(directory: String) throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SpoolError.system("open") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SpoolError.system("fsync") }
    }
}
