import CZlib
import NIOCore

/// gzip (RFC 1952) at level 1.
final class ZlibEncoder: PortionEncoder {
    // Of its own memory: zlib remembers where it lies.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// Nil: there is no memory.
    init?(sizeInBytes: Int) {
        stream.initialize(to: z_stream())
        // From 1 KiB to the 32 KiB that the format allows.
        let bits = min(15, max(10, Int.bitWidth - (sizeInBytes - 1).leadingZeroBitCount))
        // `deinit` runs for nil as well, and frees the memory.
        guard martlet_gzip_begin_small(stream, 1, Int32(bits)) == Z_OK else { return nil }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    func encode(_ portion: UnsafeRawBufferPointer, isLast: Bool, into output: inout ByteBuffer) -> Bool {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: portion.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(portion.count)
        var status = Z_OK
        repeat {
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: 4 << 10) { memory in
                stream.pointee.next_out = memory.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(clamping: memory.count)
                status = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                return min(memory.count, Int(UInt32.max)) - Int(stream.pointee.avail_out)
            }
        } while stream.pointee.avail_out == 0
        // Without input there may be nothing to do any more (`Z_BUF_ERROR`): that is no failure.
        return isLast ? status == Z_STREAM_END : status == Z_OK || status == Z_BUF_ERROR
    }
}
