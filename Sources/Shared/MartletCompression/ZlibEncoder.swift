import CZlib
import NIOCore

/// gzip (RFC 1952) at level 1.
final class ZlibEncoder: PortionEncoder {
    // Allocated separately, because zlib stores a pointer to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// Nil if memory is exhausted.
    init?(sizeInBytes: Int) {
        stream.initialize(to: z_stream())
        // A window of 1 KiB up to 32 KiB, the maximum of the format.
        let bits = min(15, max(10, Int.bitWidth - (sizeInBytes - 1).leadingZeroBitCount))
        // `deinit` also runs if this returns nil, and frees the memory.
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
        // Without further input zlib may have nothing left to do (`Z_BUF_ERROR`), which is not an error.
        return isLast ? status == Z_STREAM_END : status == Z_OK || status == Z_BUF_ERROR
    }
}
