public import NIOCore

/// Packs whole bodies for clients, as quickly as a coding allows: the levels are those that cost least for what they save (docs/PERFORMANCE.md).
public enum Deflate {
    /// A portion of this size takes about a millisecond.
    private static let portionSizeInBytes = 128 << 10

    /// Nil for a coding that is not offered (`gzip` and `br` are), for what does not become shorter, and without memory.
    ///
    /// Lets other tasks run between portions.
    public static func encode(_ bytes: ByteBuffer, _ coding: ContentCoding) async -> ByteBuffer? {
        guard let encoder = encoder(coding, for: bytes.readableBytes) else { return nil }
        var output = ByteBuffer()
        output.reserveCapacity(bytes.readableBytes / 2)
        var rest = bytes
        while let portion = rest.readSlice(length: min(portionSizeInBytes, rest.readableBytes)) {
            let isLast = rest.readableBytes == 0
            let isWhole = portion.withUnsafeReadableBytes { encoder.encode($0, isLast: isLast, into: &output) }
            guard isWhole, output.readableBytes < bytes.readableBytes else { return nil }
            if isLast { break }
            await Task.yield()
        }
        return output
    }

    private static func encoder(_ coding: ContentCoding, for sizeInBytes: Int) -> (any PortionEncoder)? {
        switch coding {
        case .gzip: ZlibEncoder(sizeInBytes: sizeInBytes)
        case .brotli: BrotliEncoder(sizeInBytes: sizeInBytes)
        case .deflate, .zstandard: nil
        }
    }
}

/// One of the formats, a portion at a time.
protocol PortionEncoder {
    /// False: the library failed, as it does without memory, and `output` is of no use.
    func encode(_ portion: UnsafeRawBufferPointer, isLast: Bool, into output: inout ByteBuffer) -> Bool
}
