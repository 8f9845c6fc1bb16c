import CZlib

/// DEFLATE in one of its container formats.
final class ZlibDecoder: PortionDecoder {
    /// zlib's window bits, which also select the container format.
    enum Format: Int32 {
        case gzip = 31
        case zlib = 15
        case bare = -15
    }

    // Allocated separately, because zlib stores a pointer to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// Nil if memory is exhausted.
    init?(_ format: Format) {
        stream.initialize(to: z_stream())
        guard martlet_inflate_begin(stream, format.rawValue) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into portion: UnsafeMutableRawBufferPointer) -> (
        count: Int, state: DecodingState
    ) {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: input.count)
        stream.pointee.next_out = portion.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(portion.count)
        let given = Int(stream.pointee.avail_in)
        let status = inflate(stream, Z_NO_FLUSH)
        input.remove(given - Int(stream.pointee.avail_in))
        let count = portion.count - Int(stream.pointee.avail_out)
        return (count, status == Z_STREAM_END ? .done : status == Z_OK ? .unfinished : .damaged)
    }
}
