import MartletCompression
import NIOCore
import Testing

@Suite struct InflateTests {
    private static let text = String(repeating: "one event after the other. ", count: 4_000)

    @Test func `what was packed comes out again`() throws {
        let packed = try #require(Gzip.compress(Array(Self.text.utf8)))
        #expect(String(buffer: try Inflate.decode(ByteBuffer(bytes: packed), .gzip, upTo: 1 << 20)) == Self.text)
    }

    @Test func `a body that would become larger than the limit is not unpacked`() throws {
        let packed = try #require(Gzip.compress([UInt8](repeating: 0, count: 50 << 20)))
        #expect(packed.count < 100 << 10)
        #expect(throws: InflateError.tooLarge(1 << 20)) { try Inflate.decode(ByteBuffer(bytes: packed), .gzip, upTo: 1 << 20) }
    }

    @Test func `what is cut off, changed or followed by more is refused`() throws {
        let packed = try #require(Gzip.compress(Array(Self.text.utf8)))
        var changed = packed
        changed[packed.count / 2] ^= 0x40
        for bytes in [Array(packed.dropLast(4)), Array(packed.prefix(10)), packed + [0], changed, [], Array(Self.text.utf8)] {
            #expect(throws: InflateError.damaged) { try Inflate.decode(ByteBuffer(bytes: bytes), .gzip, upTo: 1 << 20) }
        }
    }

    /// Made with Python's zlib: `zlib.compress(b"hello hello hello hello")`, and the same without its header and trailer.
    @Test func `deflate is the zlib format, and bare as some send it`() throws {
        let zlib: [UInt8] = [0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1]
        for bytes in [zlib, Array(zlib[2..<(zlib.count - 4)])] {
            #expect(String(buffer: try Inflate.decode(ByteBuffer(bytes: bytes), .deflate, upTo: 100)) == "hello hello hello hello")
        }
    }
}
