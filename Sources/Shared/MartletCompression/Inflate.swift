import CZlib
public import NIOCore

/// What a body is packed in, by the name that `Content-Encoding` gives it (RFC 9110 §8.4.1).
public enum ContentCoding: String, Sendable {
    case gzip
    /// The zlib format (RFC 1950); bare DEFLATE (RFC 1951), which some send under this name, is taken, too.
    case deflate

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
    /// The bytes unpacked. Never takes more memory than the limit and some kilobytes, whatever the input says.
    ///
    /// - Throws: `InflateError`.
    public static func decode(_ bytes: ByteBuffer, _ coding: ContentCoding, upTo limitInBytes: Int) throws(InflateError) -> ByteBuffer {
        switch coding {
        case .gzip: return try inflate(bytes, window: 15 + 16, limitInBytes)
        case .deflate:
            do {
                return try inflate(bytes, window: 15, limitInBytes)
            } catch .damaged {
                return try inflate(bytes, window: -15, limitInBytes)
            }
        }
    }

    private static func inflate(_ bytes: ByteBuffer, window: Int32, _ limitInBytes: Int) throws(InflateError) -> ByteBuffer {
        var stream = z_stream()
        guard martlet_inflate_begin(&stream, window) == Z_OK else { throw .damaged }
        defer { inflateEnd(&stream) }
        var input = bytes.readableBytesView.withUnsafeBytes { Array($0) }
        var output = ByteBuffer()
        output.reserveCapacity(min(limitInBytes, max(4 * input.count, 4 << 10)))
        var portion = [UInt8](repeating: 0, count: 64 << 10)
        var failure: InflateError?
        var isDone = false
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            while failure == nil, !isDone {
                let (status, count) = portion.withUnsafeMutableBufferPointer { portion in
                    stream.next_out = portion.baseAddress
                    stream.avail_out = UInt32(portion.count)
                    let status = CZlib.inflate(&stream, Z_NO_FLUSH)
                    return (status, portion.count - Int(stream.avail_out))
                }
                guard output.readableBytes + count <= limitInBytes else {
                    failure = .tooLarge(limitInBytes)
                    return
                }
                output.writeBytes(portion[..<count])
                switch status {
                case Z_STREAM_END:
                    isDone = true
                    if stream.avail_in > 0 { failure = .damaged }
                // Nothing more comes in, and nothing came out: it was cut off.
                case Z_OK where count > 0 || stream.avail_in > 0: break
                default: failure = .damaged
                }
            }
        }
        if let failure { throw failure }
        return output
    }
}
