import CZlib

/// gzip (RFC 1952).
public enum Gzip {
    /// Compresses `bytes`. Nil if there are less than 256 bytes or the result would not be shorter.
    public static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 256 else { return nil }
        var stream = z_stream()
        guard martlet_gzip_begin(&stream, 6) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        // A result that does not fit into this buffer is not shorter.
        var output = [UInt8](repeating: 0, count: bytes.count)
        let status = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        guard status == Z_STREAM_END else { return nil }
        return Array(output.prefix(Int(stream.total_out)))
    }
}
