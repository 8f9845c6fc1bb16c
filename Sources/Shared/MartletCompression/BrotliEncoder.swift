import CBrotli
import NIOCore

/// Brotli (RFC 7932) at quality 1, with a window of 256 KiB.
final class BrotliEncoder: PortionEncoder {
    private let state: OpaquePointer

    /// Nil if memory is exhausted.
    init?(sizeInBytes: Int) {
        guard let state = BrotliEncoderCreateInstance(nil, nil, nil) else { return nil }
        self.state = state
        BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, 1)
        BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, 18)
        BrotliEncoderSetParameter(state, BROTLI_PARAM_SIZE_HINT, UInt32(clamping: sizeInBytes))
    }

    deinit { BrotliEncoderDestroyInstance(state) }

    func encode(_ portion: UnsafeRawBufferPointer, isLast: Bool, into output: inout ByteBuffer) -> Bool {
        var (availableIn, nextIn) = (portion.count, portion.bindMemory(to: UInt8.self).baseAddress)
        let operation = isLast ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS
        var (hasMore, hasFailed) = (true, false)
        while hasMore {
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: 4 << 10) { memory in
                var (availableOut, nextOut) = (memory.count, memory.bindMemory(to: UInt8.self).baseAddress)
                hasFailed =
                    BrotliEncoderCompressStream(state, operation, &availableIn, &nextIn, &availableOut, &nextOut, nil)
                    != BROTLI_TRUE
                return memory.count - availableOut
            }
            hasMore = !hasFailed && (availableIn > 0 || BrotliEncoderHasMoreOutput(state) == BROTLI_TRUE)
        }
        return !hasFailed
    }
}
