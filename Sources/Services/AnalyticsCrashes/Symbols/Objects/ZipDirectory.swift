import MartletCompression
import NIOCore

/// The entries of a zip archive (PKWARE's APPNOTE 6.3, without Zip64 and encryption), which may be preceded by other
/// data.
///
/// Names are only compared: nothing is ever unpacked to a path.
struct ZipDirectory: Sendable {
    private static let maximumEntries = 20_000
    private static let endLength = 22
    private static let maximumCommentLength = 65_535

    private struct Entry {
        /// 0: stored; 8: DEFLATE.
        var method: UInt16
        var checksum: UInt32
        var packedSize: UInt32
        var size: UInt32
        /// The offset of the entry's local header.
        var start: UInt64
    }

    private let entries: [String: Entry]
    private let source: ObjectSource

    /// - Throws: `ObjectFile.Refusal`.
    init(of source: ObjectSource) async throws {
        let size = source.range.count
        let tail = ObjectFields(
            bytes: try await source.read(last: min(size, Self.endLength + Self.maximumCommentLength)),
            isBigEndian: false)
        let ends = stride(from: tail.bytes.count - Self.endLength, through: 0, by: -1)
        guard let end = ends.first(where: { tail.bytes[$0...].starts(with: [0x50, 0x4b, 5, 6]) }) else {
            throw Self.damaged
        }
        let (count, length) = (Int(try tail.half(end + 10)), UInt64(try tail.word(end + 12)))
        let (directoryEnd, offset) = (UInt64(size - tail.bytes.count + end), UInt64(try tail.word(end + 16)))
        guard count <= Self.maximumEntries, offset + length <= directoryEnd else { throw Self.damaged }
        // The length of the data before the archive, if offsets do not include it.
        let start = directoryEnd - length - offset
        let directory = ObjectFields(bytes: try await source.read(directoryEnd - length, length), isBigEndian: false)
        var (entries, position) = ([String: Entry](), 0)
        for _ in 0..<count {
            guard try directory.word(position) == 0x0201_4b50 else { throw Self.damaged }
            let nameLength = Int(try directory.half(position + 28))
            let name = try directory.name(position + 46, upTo: nameLength)
            let isEncrypted = try directory.half(position + 8) & 1 != 0
            if !isEncrypted {
                entries[name] = Entry(
                    method: try directory.half(position + 10), checksum: try directory.word(position + 16),
                    packedSize: try directory.word(position + 20), size: try directory.word(position + 24),
                    start: start + UInt64(try directory.word(position + 42)))
            }
            position +=
                46 + nameLength + Int(try directory.half(position + 30)) + Int(try directory.half(position + 32))
        }
        (self.entries, self.source) = (entries, source)
    }

    /// The bytes of an entry; nil if there is none with this name.
    ///
    /// - Throws: `ObjectFile.Refusal` if it is damaged or has more than `limit` bytes, compressed or not, whatever its
    ///   header states.
    func read(_ name: String, upTo limit: Int) async throws -> [UInt8]? {
        guard let entry = entries[name] else { return nil }
        guard entry.size <= limit, entry.packedSize <= limit else {
            throw ObjectFile.Refusal(reason: "An entry of the archive is too large.")
        }
        let header = ObjectFields(bytes: try await source.read(entry.start, 30), isBigEndian: false)
        guard try header.word(0) == 0x0403_4b50 else { throw Self.damaged }
        let start = entry.start + 30 + UInt64(try header.half(26)) + UInt64(try header.half(28))
        let packed = try await source.read(start, UInt64(entry.packedSize))
        let bytes: [UInt8]
        switch entry.method {
        case 0: bytes = packed
        case 8:
            guard let unpacked = try? Inflate.decode(ByteBuffer(bytes: packed), .deflate, upTo: Int(entry.size)) else {
                throw Self.damaged
            }
            bytes = Array(unpacked.readableBytesView)
        default:
            throw ObjectFile.Refusal(reason: "The archive uses an unsupported compression; only DEFLATE is supported.")
        }
        guard bytes.count == entry.size, Checksum.crc32(bytes) == entry.checksum else { throw Self.damaged }
        return bytes
    }

    private static let damaged = ObjectFile.Refusal(reason: "The archive is damaged.")
}

extension ObjectSource {
    fileprivate func read(last count: Int) async throws -> [UInt8] {
        try await read(UInt64(range.count - count), UInt64(count))
    }
}
