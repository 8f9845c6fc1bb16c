public import NIOCore

/// A content coding, named as in `Content-Encoding` (RFC 9110 §8.4.1).
public enum ContentCoding: String, Sendable {
    case gzip
    /// The zlib format (RFC 1950). Bare DEFLATE (RFC 1951), which some clients send under this name, is also accepted.
    case deflate
    /// RFC 7932.
    case brotli = "br"
    /// RFC 8878, one or more frames with windows of at most 8 MiB, as RFC 9659 requires.
    case zstandard = "zstd"

    /// - Parameter name: Case-insensitive; `x-gzip` is `gzip`.
    public init?(name: some StringProtocol) {
        let name = name.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }
}

public enum InflateError: Error, Sendable, Equatable {
    /// Not in this coding, truncated, or followed by other bytes.
    case damaged
    /// The output would exceed the limit, in bytes.
    case tooLarge(Int)
}

public enum Inflate {
    /// Decompresses `bytes`. Whatever the input, it uses no more memory than the limit plus the coding's window of at
    /// most 16 MiB.
    ///
    /// - Throws: `InflateError`.
    public static func decode(_ bytes: ByteBuffer, _ coding: ContentCoding, upTo limitInBytes: Int) throws(InflateError)
        -> ByteBuffer
    {
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

    private static func decode(_ bytes: ByteBuffer, by decoder: (any PortionDecoder)?, _ limitInBytes: Int)
        throws(InflateError) -> ByteBuffer
    {
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
                // No progress means that the input is truncated.
                case .unfinished: if count == 0, input.count == before { return .damaged }
                case .damaged: return .damaged
                }
            }
        }
        if let failure { throw failure }
        return output
    }
}

/// A decoder that processes one portion at a time.
protocol PortionDecoder {
    /// Decodes input into `portion`, removes the consumed bytes from the input, and returns the number of bytes
    /// written.
    func decode(_ input: inout UnsafeRawBufferPointer, into portion: UnsafeMutableRawBufferPointer) -> (
        count: Int, state: DecodingState
    )
}

enum DecodingState {
    case unfinished
    case done
    case damaged
}

extension UnsafeRawBufferPointer {
    /// Removes bytes from the beginning.
    mutating func remove(_ count: Int) { self = UnsafeRawBufferPointer(rebasing: self[count...]) }
}
