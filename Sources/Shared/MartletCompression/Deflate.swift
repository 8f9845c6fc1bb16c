public import NIOCore

/// Compresses complete bodies for clients, with the fastest useful level of each coding (docs/PERFORMANCE.md).
public enum Deflate {
    /// Compressing a portion of this size takes about a millisecond.
    private static let portionSizeInBytes = 128 << 10

    /// Compresses `bytes`. Nil if the coding is not `gzip` or `br`, if the result would not be shorter, or if memory is
    /// exhausted.
    ///
    /// Yields to other tasks between portions.
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

/// An encoder that processes one portion at a time.
protocol PortionEncoder {
    /// Encodes a portion. False if the library failed, for example without memory; `output` is then unusable.
    func encode(_ portion: UnsafeRawBufferPointer, isLast: Bool, into output: inout ByteBuffer) -> Bool
}
