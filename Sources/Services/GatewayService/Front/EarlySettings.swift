import NIOCore

/// Puts the settings of an HTTP/2 connection in force from its first request on.
///
/// NIOHTTP2 applies its settings only once the client has acknowledged them, and most clients send requests before they do. Until then it decodes heads
/// up to its default limit only, and a longer one ends the connection. So this inserts an acknowledgement behind the client's first SETTINGS, and removes
/// the client's own.
///
/// It also hands frames on so that NIOHTTP2 comes to a frame's end with each read that has one: NIOHTTP2 frees what it has read only there, and
/// frames that never end with a read (but for DATA) would take as much memory as the client sends.
final class EarlySettings: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Phase {
        case preface, firstFrame, firstSettings, frames, acknowledged, done
    }

    private var phase = Phase.preface
    /// What has not been passed on: less than a frame's header, between two reads.
    private var pending = ByteBuffer()
    /// How much is still to come of the preface, or of the frame that is being passed on.
    private var rest = 24
    /// How much of a frame that has not ended was passed on.
    private var partOfFrame = 0

    private static let acknowledgement: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if phase == .done { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        pending.writeBuffer(&buffer)
        var passed = ByteBuffer()
        while step(&passed) {}
        // A buffer does not forget by itself what was read: a client that never acknowledges would make it grow for as long as it sends.
        pending.discardReadBytes()
        let whole = max(0, passed.readableBytes - partOfFrame)
        if let frames = passed.readSlice(length: whole), whole > 0 { context.fireChannelRead(wrapInboundOut(frames)) }
        if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    }

    /// Returns whether another step may find something to do.
    private func step(_ passed: inout ByteBuffer) -> Bool {
        if rest > 0 {
            guard var part = pending.readSlice(length: min(rest, pending.readableBytes)), part.readableBytes > 0 else { return false }
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

    /// Length, type and flags of a frame (RFC 9113 §4.1).
    private func readHeader() -> Bool {
        guard let header = pending.getBytes(at: pending.readerIndex, length: Self.acknowledgement.count) else { return false }
        if header == Self.acknowledgement, phase == .frames {
            pending.moveReaderIndex(forwardBy: header.count)
            phase = .acknowledged
        } else {
            rest = header.count + (Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2]))
            // Whatever else comes first is an error, which NIOHTTP2 finds.
            if phase == .firstFrame { phase = header[3] == 4 ? .firstSettings : .done }
        }
        return true
    }
}
