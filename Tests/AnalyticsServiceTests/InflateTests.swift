import Foundation
import MartletCompression
import NIOCore
import Testing

@Suite struct InflateTests {
    private static let text = String(repeating: "one event after the other. ", count: 4_000)

    @Test func `compressed bytes are decompressed`() throws {
        let packed = try #require(Gzip.compress(Array(Self.text.utf8)))
        #expect(String(buffer: try Inflate.decode(ByteBuffer(bytes: packed), .gzip, upTo: 1 << 20)) == Self.text)
    }

    @Test func `a body that would exceed the limit is not decompressed`() throws {
        let packed = try #require(Gzip.compress([UInt8](repeating: 0, count: 50 << 20)))
        #expect(packed.count < 100 << 10)
        #expect(throws: InflateError.tooLarge(1 << 20)) {
            try Inflate.decode(ByteBuffer(bytes: packed), .gzip, upTo: 1 << 20)
        }
    }

    @Test func `truncated, damaged and trailing bytes are refused`() throws {
        let packed = try #require(Gzip.compress(Array(Self.text.utf8)))
        var changed = packed
        changed[packed.count / 2] ^= 0x40
        for bytes in [
            Array(packed.dropLast(4)), Array(packed.prefix(10)), packed + [0], changed, [], Array(Self.text.utf8),
        ] {
            #expect(throws: InflateError.damaged) { try Inflate.decode(ByteBuffer(bytes: bytes), .gzip, upTo: 1 << 20) }
        }
    }

    private static let lines = String(repeating: #"{"message":"Hello, Hello, Hello"}"# + "\n", count: 40)

    /// `lines` compressed by PyPI's brotli 1.2.1 and by the program zstd 1.5.4; for zstd also as two consecutive
    /// frames.
    @Test(
        arguments: [
            (.brotli, "G08F+I3UYs0Z7pQiCnul09eVbBKMZzoBDWKYCVMM1TA6Fg=="),
            (.zstandard, "KLUv/QRYBQEAsHsibWVzc2FnZSI6IkhlbGxvLCAifQoCACsV9Y/iShi3TfQF"),
            (
                .zstandard,
                "KLUv/QRYBQEAsHsibWVzc2FnZSI6IkhlbGxvLCAifQoCAJeKqkZxJQyG+8AXKLUv/QRYNQEA0GVsbG8sIEhlbGxvIn0KeyJtZXNzYWdlIjoiAwBriqrgM4HXzjF1kT0V"
            ),
        ] as [(ContentCoding, String)])
    func `brotli and zstandard are decompressed, and nothing else is accepted`(
        _ coding: ContentCoding, _ packed: String
    ) throws {
        let packed = Array(try #require(Data(base64Encoded: packed)))
        #expect(
            String(buffer: try Inflate.decode(ByteBuffer(bytes: packed), coding, upTo: Self.lines.utf8.count))
                == Self.lines)
        for length in packed.indices {
            // The end of the first frame is not the end of the body.
            guard coding == .brotli || length != 45 else { continue }
            #expect(throws: InflateError.damaged, "\(length)") {
                try Inflate.decode(ByteBuffer(bytes: packed.prefix(length)), coding, upTo: 1 << 20)
            }
        }
        for bytes in [packed + [0], Array(Self.lines.utf8)] {
            #expect(throws: InflateError.damaged) {
                try Inflate.decode(ByteBuffer(bytes: bytes), coding, upTo: 1 << 20)
            }
        }
        #expect(throws: InflateError.tooLarge(1_359)) {
            try Inflate.decode(ByteBuffer(bytes: packed), coding, upTo: 1_359)
        }
    }

    /// 20 MiB of spaces compressed by PyPI's brotli.
    @Test func `forty bytes of brotli do not expand to 20 MiB`() throws {
        let bomb = Array(try #require(Data(base64Encoded: "y///P/glQOKxQCD3/o///3/wSwDEYRGA7v1f/v//4JcAiMMCAN37Hw==")))
        #expect(throws: InflateError.tooLarge(1 << 20)) {
            try Inflate.decode(ByteBuffer(bytes: bomb), .brotli, upTo: 1 << 20)
        }
        #expect(try Inflate.decode(ByteBuffer(bytes: bomb), .brotli, upTo: 20 << 20).readableBytes == 20 << 20)
    }

    /// `zstd --long=27` of 100 bytes.
    @Test func `a zstandard frame cannot request a window of 128 MiB`() throws {
        let bytes = Array(try #require(Data(base64Encoded: "KLUv/QSIRQAAEHh4AQA/ASyUwKOI")))
        #expect(throws: InflateError.damaged) {
            try Inflate.decode(ByteBuffer(bytes: bytes), .zstandard, upTo: 1 << 20)
        }
    }

    /// Made with Python's zlib: `zlib.compress(b"hello hello hello hello")`, and the same without its header and
    /// trailer.
    @Test func `deflate is read in zlib format, and raw as some clients send it`() throws {
        let zlib: [UInt8] = [
            0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1,
        ]
        for bytes in [zlib, Array(zlib[2..<(zlib.count - 4)])] {
            #expect(
                String(buffer: try Inflate.decode(ByteBuffer(bytes: bytes), .deflate, upTo: 100))
                    == "hello hello hello hello")
        }
    }
}
