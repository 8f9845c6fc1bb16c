import NIOCore

/// The client's side of an exchange: an HTTP/1.1 connection or an HTTP/2 stream.
protocol Front: AnyObject {
    var client: ClientConnection { get }
    /// Place in its worker's list; -1 when in none.
    var sweepIndex: Int { get set }

    /// The exchange has an upstream: body portions are welcome from now on.
    func readyForBody()
    /// The upstream takes bytes again.
    func resumeBody()

    /// Passes the head of the upstream's response on, less what belongs to its connection, plus what the exchange adds.
    func respond(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer, of exchange: Exchange)
    func respond(_ body: ByteBuffer)
    /// The response is complete. The front tells the exchange's end to its connection.
    func endResponse(of exchange: Exchange)
    func flush()
    /// Whether the client takes bytes as fast as they come.
    var isWritable: Bool { get }

    /// An answer of the gateway's own; no response has begun.
    func answer(_ answer: Answer, of exchange: Exchange, closing: Bool)
    /// 101 was passed on; from now on both sides are bytes.
    func becomeTunnel()
    /// The upstream has closed the tunnel: the connection ends when the client has got the rest.
    func endTunnel()

    /// Ends the connection or stream at once; what has been sent of a response stays unfinished.
    func abort()
    func drain()
    func tick(_ now: NIODeadline)
}

/// What is known of a client's connection.
final class ClientConnection {
    let address: IPAddress?
    let addressText: [UInt8]
    let isSecure: Bool
    /// The peer is a proxy whose forwarding headers are believed.
    let isTrustedProxy: Bool
    let memo = GrantMemo()
    /// Nil where connections are not counted.
    var permit: ClientConnections.Permit?
    /// When a part of an answer last left over HTTP/2.
    var lastData = NIODeadline.now()

    init(_ address: SocketAddress?, isSecure: Bool, settings: Settings) {
        self.address = address.flatMap { IPAddress($0) }
        self.addressText = Array((address?.ipAddress ?? "unknown").utf8)
        self.isSecure = isSecure
        isTrustedProxy = self.address.map { peer in settings.trustedProxies.contains { $0.contains(peer) } } ?? false
    }
}

extension ChannelHandlerContext {
    /// Whether anything written to the connection has not left yet, because the client does not read as fast.
    var hasUnsentBytes: Bool { (try? channel.syncOptions?.getOption(.bufferedWritableBytes)).map { $0 > 0 } ?? false }

    /// When everything written so far has left.
    func whenSent() -> EventLoopFuture<Void> {
        let sent = eventLoop.makePromise(of: Void.self)
        writeAndFlush(NIOAny(IOData.byteBuffer(ByteBuffer())), promise: sent)
        return sent.futureResult
    }
}
