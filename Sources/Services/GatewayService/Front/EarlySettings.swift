import NIOCore

/// Makes the settings of an HTTP/2 connection take effect from its first request on.
///
/// NIOHTTP2 applies its settings only when the client has acknowledged them, but most clients send requests earlier.
/// Until then it decodes heads up to its default limit only, and a longer one ends the connection. This handler
/// therefore inserts an acknowledgement after the client's first SETTINGS frame and removes the client's own.
///
/// It also splits its output at frame boundaries. NIOHTTP2 frees the bytes it has read only when a read ends with a
/// frame or inside a DATA frame. If no read did, memory would grow with everything the client sends.
final class EarlySettings: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Phase {
        case preface, firstFrame, firstSettings, frames, acknowledged, done
    }

    private var phase = Phase.preface
    /// Bytes not yet passed on; between two reads less than a frame header.
    private var pending = ByteBuffer()
    /// Number of bytes still missing from the preface or from the frame being passed on.
    private var rest = 24
    /// Number of bytes already passed on from an incomplete frame.
    private var partOfFrame = 0

    private static let acknowledgement: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if phase == .done { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        pending.writeBuffer(&buffer)
        var passed = ByteBuffer()
        while step(&passed) {}
        // A buffer does not release consumed bytes by itself: a client that never acknowledges would make it grow
        // forever.
        pending.discardReadBytes()
        let whole = max(0, passed.readableBytes - partOfFrame)
        if let frames = passed.readSlice(length: whole), whole > 0 { context.fireChannelRead(wrapInboundOut(frames)) }
        if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    }

    /// Returns whether another step may make progress.
    private func step(_ passed: inout ByteBuffer) -> Bool {
        if rest > 0 {
            guard var part = pending.readSlice(length: min(rest, pending.readableBytes)), part.readableBytes > 0 else {
                return false
            }
            rest -= part.readableBytes
            partOfFrame = rest == 0 ? 0 : partOfFrame + part.readableBytes
            passed.writeBuffer(&part)
            if rest == 0, phase == .firstSettings {
                passed.writeBytes(Self.acknowledgement)
                phase = .frames
            }
            return true
        }
        switch phase {
        case .preface: phase = .firstFrame
        case .firstFrame, .firstSettings, .frames, .acknowledged: return readHeader()
        case .done:
            passed.writeBuffer(&pending)
            return false
        }
        return true
    }

    /// Reads the length, type and flags of a frame (RFC 9113 §4.1); false if more bytes are needed.
    private func readHeader() -> Bool {
        guard let header = pending.getBytes(at: pending.readerIndex, length: Self.acknowledgement.count) else {
            return false
        }
        if header == Self.acknowledgement, phase == .frames {
            pending.moveReaderIndex(forwardBy: header.count)
            phase = .acknowledged
        } else {
            rest = header.count + (Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2]))
            // Any other first frame is an error, which NIOHTTP2 detects.
            if phase == .firstFrame { phase = header[3] == 4 ? .firstSettings : .done }
        }
        return true
    }
}
