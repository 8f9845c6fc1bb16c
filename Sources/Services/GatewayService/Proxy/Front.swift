import NIOCore

/// The client's side of an exchange: an HTTP/1.1 connection or an HTTP/2 stream.
protocol Front: AnyObject {
    var client: ClientConnection { get }
    /// Index in the worker's list; -1 if not in the list.
    var sweepIndex: Int { get set }

    /// The exchange has an upstream and accepts the body from now on.
    func readyForBody()
    /// The upstream accepts data again.
    func resumeBody()

    /// Forwards the head of the upstream's response without its hop-by-hop fields and with the fields that the exchange
    /// adds.
    func respond(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer, of exchange: Exchange)
    func respond(_ body: ByteBuffer)
    /// Completes the response and releases the exchange.
    func endResponse(of exchange: Exchange)
    func flush()
    /// Whether the client keeps up with the data written so far.
    var isWritable: Bool { get }

    /// Sends an answer of the gateway itself; requires that no response has begun.
    ///
    /// - Parameter closing: Whether the connection must close, because the client is too slow or what it sends next
    ///   cannot be trusted. The front decides what happens to the rest of the request's body.
    func answer(_ answer: Answer, of exchange: Exchange, closing: Bool)
    /// 101 was forwarded; from now on both sides exchange raw bytes.
    func becomeTunnel()
    /// The upstream closed the tunnel. The connection closes after the client has received the rest.
    func endTunnel()

    /// Ends the connection or stream at once, leaving any response incomplete.
    func abort()
    func drain()
    func tick(_ now: NIODeadline)
}

/// Properties of a client's connection.
final class ClientConnection {
    let address: IPAddress?
    let addressText: [UInt8]
    let isSecure: Bool
    /// Whether the peer is a proxy whose forwarding headers are trusted.
    let isTrustedProxy: Bool
    /// Set on the port that only redirects.
    let redirect: Redirect?
    let memo = GrantMemo()
    /// Nil if connections are not counted.
    var permit: ClientConnections.Permit?
    /// When data of an answer was last sent over HTTP/2.
    var lastData = NIODeadline.now()

    init(_ address: SocketAddress?, isSecure: Bool, redirect: Redirect?, settings: Settings) {
        self.address = address.flatMap { IPAddress($0) }
        self.addressText = Array((address?.ipAddress ?? "unknown").utf8)
        self.isSecure = isSecure
        self.redirect = redirect
        isTrustedProxy = self.address.map { peer in settings.trustedProxies.contains { $0.contains(peer) } } ?? false
    }
}

extension ChannelHandlerContext {
    /// Whether written bytes have not been sent yet because the client reads too slowly.
    var hasUnsentBytes: Bool { (try? channel.syncOptions?.getOption(.bufferedWritableBytes)).map { $0 > 0 } ?? false }

    /// Succeeds once everything written so far has been sent.
    func whenSent() -> EventLoopFuture<Void> {
        let sent = eventLoop.makePromise(of: Void.self)
        writeAndFlush(NIOAny(IOData.byteBuffer(ByteBuffer())), promise: sent)
        return sent.futureResult
    }
}
