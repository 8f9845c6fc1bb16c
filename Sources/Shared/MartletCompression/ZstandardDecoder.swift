import CZstandard

/// Zstandard (RFC 8878), with any number of consecutive frames.
final class ZstandardDecoder: PortionDecoder {
    /// The logarithm of 8 MiB (RFC 9659). Frames that need a larger window are refused.
    private static let largestWindow: Int32 = 23

    private let context: OpaquePointer

    /// Nil if memory is exhausted.
    init?() {
        guard let context = ZSTD_createDCtx() else { return nil }
        self.context = context
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.largestWindow)
    }

    deinit { ZSTD_freeDCtx(context) }

    func decode(_ input: inout UnsafeRawBufferPointer, into portion: UnsafeMutableRawBufferPointer) -> (
        count: Int, state: DecodingState
    ) {
        var bytes = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var output = ZSTD_outBuffer(dst: portion.baseAddress, size: portion.count, pos: 0)
        let result = ZSTD_decompressStream(context, &output, &bytes)
        input.remove(bytes.pos)
        if ZSTD_isError(result) != 0 { return (output.pos, .damaged) }
        // The result is zero at the end of a frame; another frame may follow.
        return (output.pos, result == 0 && input.isEmpty ? .done : .unfinished)
    }
}
