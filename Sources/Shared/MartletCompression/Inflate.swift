public import NIOCore

/// What a body is packed in, by the name that `Content-Encoding` gives it (RFC 9110 §8.4.1).
public enum ContentCoding: String, Sendable {
    case gzip
    /// The zlib format (RFC 1950); bare DEFLATE (RFC 1951), which some send under this name, is taken, too.
    case deflate
    /// RFC 7932.
    case brotli = "br"
    /// RFC 8878, one frame or several; windows of 8 MiB at most, as RFC 9659 has it.
    case zstandard = "zstd"

    /// - Parameter name: in any case; `x-gzip` is `gzip`.
    public init?(name: some StringProtocol) {
        let name = name.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }
}

public enum InflateError: Error, Sendable, Equatable {
    /// Not in this coding, cut off, or with more behind its end.
    case damaged
    /// It would become larger than the limit, in bytes.
    case tooLarge(Int)
}

public enum Inflate {
    /// The bytes unpacked. Never takes more memory than the limit and the coding's window, 16 MiB at most, whatever the input says.
    ///
    /// - Throws: `InflateError`.
    public static func decode(_ bytes: ByteBuffer, _ coding: ContentCoding, upTo limitInBytes: Int) throws(InflateError) -> ByteBuffer {
        switch coding {
        case .gzip: return try decode(bytes, by: ZlibDecoder(.gzip), limitInBytes)
        case .deflate:
            do {
                return try decode(bytes, by: ZlibDecoder(.zlib), limitInBytes)
            } catch .damaged {
                return try decode(bytes, by: ZlibDecoder(.bare), limitInBytes)
            }
        case .brotli: return try decode(bytes, by: BrotliDecoder(), limitInBytes)
        case .zstandard: return try decode(bytes, by: ZstandardDecoder(), limitInBytes)
        }
    }

    private static func decode(_ bytes: ByteBuffer, by decoder: (any PortionDecoder)?, _ limitInBytes: Int) throws(InflateError) -> ByteBuffer {
        guard let decoder else { throw .damaged }
        var output = ByteBuffer()
        output.reserveCapacity(min(limitInBytes, max(4 * bytes.readableBytes, 4 << 10)))
        var portion = [UInt8](repeating: 0, count: 64 << 10)
        let failure = bytes.readableBytesView.withUnsafeBytes { bytes -> InflateError? in
            var input = bytes
            while true {
                let before = input.count
                let (count, state) = portion.withUnsafeMutableBytes { decoder.decode(&input, into: $0) }
                guard output.readableBytes + count <= limitInBytes else { return .tooLarge(limitInBytes) }
                output.writeBytes(portion[..<count])
                switch state {
                case .done: return input.isEmpty ? nil : .damaged
                // Nothing more comes in, and nothing came out: it was cut off.
                case .unfinished: if count == 0, input.count == before { return .damaged }
                case .damaged: return .damaged
                }
            }
        }
        if let failure { throw failure }
        return output
    }
}

/// One of the formats, a portion at a time.
protocol PortionDecoder {
    /// Writes what becomes of the input, takes off the input what it has read, and returns how many bytes it wrote.
    func decode(_ input: inout UnsafeRawBufferPointer, into portion: UnsafeMutableRawBufferPointer) -> (count: Int, state: DecodingState)
}

enum DecodingState {
    case unfinished
    case done
    case damaged
}

extension UnsafeRawBufferPointer {
    /// Takes bytes off the beginning.
    mutating func remove(_ count: Int) { self = UnsafeRawBufferPointer(rebasing: self[count...]) }
}
