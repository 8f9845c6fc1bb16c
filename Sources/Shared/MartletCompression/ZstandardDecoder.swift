import CZstandard

/// Zstandard (RFC 8878): frames, one behind the other.
final class ZstandardDecoder: PortionDecoder {
    /// The logarithm of 8 MiB (RFC 9659): what wants to look back further is refused.
    private static let largestWindow: Int32 = 23

    private let context: OpaquePointer

    /// Nil: there is no memory.
    init?() {
        guard let context = ZSTD_createDCtx() else { return nil }
        self.context = context
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.largestWindow)
    }

    deinit { ZSTD_freeDCtx(context) }

    func decode(_ input: inout UnsafeRawBufferPointer, into portion: UnsafeMutableRawBufferPointer) -> (count: Int, state: DecodingState) {
        var bytes = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var output = ZSTD_outBuffer(dst: portion.baseAddress, size: portion.count, pos: 0)
        let result = ZSTD_decompressStream(context, &output, &bytes)
        input.remove(bytes.pos)
        if ZSTD_isError(result) != 0 { return (output.pos, .damaged) }
        // Zero at the end of a frame; behind it another may begin.
        return (output.pos, result == 0 && input.isEmpty ? .done : .unfinished)
    }
}
