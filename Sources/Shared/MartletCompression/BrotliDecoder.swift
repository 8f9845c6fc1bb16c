import CBrotli

/// Brotli (RFC 7932), without the "large window" extension.
final class BrotliDecoder: PortionDecoder {
    private let state: OpaquePointer

    /// Nil if memory is exhausted.
    init?() {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func decode(_ input: inout UnsafeRawBufferPointer, into portion: UnsafeMutableRawBufferPointer) -> (
        count: Int, state: DecodingState
    ) {
        var (availableIn, nextIn) = (input.count, input.bindMemory(to: UInt8.self).baseAddress)
        var (availableOut, nextOut) = (portion.count, portion.bindMemory(to: UInt8.self).baseAddress)
        let result = BrotliDecoderDecompressStream(state, &availableIn, &nextIn, &availableOut, &nextOut, nil)
        input.remove(input.count - availableIn)
        let count = portion.count - availableOut
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS: return (count, .done)
        case BROTLI_DECODER_RESULT_ERROR: return (count, .damaged)
        default: return (count, .unfinished)
        }
    }
}
