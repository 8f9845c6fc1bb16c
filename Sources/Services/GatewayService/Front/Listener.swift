import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A public port: accepts connections and assigns each to the worker of its event loop.
struct Listener: Sendable {
    let workers: [Worker]
    let settings: Settings
    /// Nil serves clear text.
    let certificates: Certificates?
    /// Set if the port only redirects.
    let redirect: Redirect?
    private let probes = Probes()

    init(workers: [Worker], settings: Settings, certificates: Certificates?, redirect: Redirect? = nil) {
        self.workers = workers
        self.settings = settings
        self.certificates = certificates
        self.redirect = redirect
    }

    /// - Parameter shared: Another gateway may already listen on the port.
    func bind(host: String, port: Int, shared: Bool, on group: any EventLoopGroup) async throws -> any Channel {
        let isSecure = certificates != nil
        if !shared, port > 0 {
            try PortSharing.requireFree(
                try await NIOThreadPool.singleton.runIfActive { try .makeAddressResolvingHost(host, port: port) },
                setting: redirect == nil ? "http.port" : "tls.redirect.port")
        }
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.maxMessagesPerRead, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.socketOption(PortSharing.option), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.tcpOption(.unsentBytes), value: 128 * 1024)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: !isSecure)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try initialize(channel) }
            }
            .bind(host: host, port: port)
            .get()
        await PortSharing.removeFilter(server)
        return server
    }

    /// Stops accepting without losing connections that another gateway on the same port can accept.
    func close(_ server: any Channel, on group: any EventLoopGroup) async {
        let isTakenOver = await PortSharing.handOver(server) { await probes.arrives(at: server, on: group) }
        // Connections in the backlog are accepted during this delay.
        try? await server.eventLoop.scheduleTask(in: isTakenOver ? PortSharing.handshakeTime : .milliseconds(20)) {}
            .futureResult.get()
        try? await server.close().get()
    }

    private func initialize(_ channel: any Channel) throws {
        probes.record(channel.remoteAddress)
        let client = ClientConnection(
            channel.remoteAddress, isSecure: certificates != nil, redirect: redirect, settings: settings)
        let address = client.isTrustedProxy ? nil : client.address?.bucket
        guard let worker = workers.first(where: { $0.eventLoop === channel.eventLoop }),
            let permit = settings.connections.enter(channel, from: address)
        else { throw ChannelError.inputClosed }
        client.permit = permit
        channel.closeFuture.whenComplete { [settings] _ in settings.connections.leave(permit) }
        if let certificates {
            try secure(channel, client, worker, certificates.context)
        } else {
            try channel.pipeline.syncOperations.addHandler(HTTP1Connection(client: client, worker: worker))
        }
    }

    private func secure(_ channel: any Channel, _ client: ClientConnection, _ worker: Worker, _ context: NIOSSLContext)
        throws
    {
        let timeoutTask = channel.eventLoop.assumeIsolated().scheduleTask(in: settings.headerTimeout) {
            channel.close(promise: nil)
        }
        let negotiation = ApplicationProtocolNegotiationHandler { (result: ALPNResult, channel: any Channel) in
            timeoutTask.cancel()
            return channel.eventLoop.makeCompletedFuture {
                if case .negotiated("h2") = result {
                    try HTTP2.configure(channel, client: client, worker: worker)
                } else {
                    try channel.pipeline.syncOperations.addHandler(HTTP1Connection(client: client, worker: worker))
                }
            }
        }
        channel.closeFuture.assumeIsolated().whenComplete { _ in timeoutTask.cancel() }
        try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: context), negotiation)
    }
}

extension NIOBSDSocket.Option {
    /// Limits how many unsent bytes the kernel buffers (TCP_NOTSENT_LOWAT). A larger buffer could hide for minutes that
    /// the client does not read.
    fileprivate static var unsentBytes: NIOBSDSocket.Option {
        #if canImport(Darwin)
        NIOBSDSocket.Option(rawValue: 0x201)
        #else
        NIOBSDSocket.Option(rawValue: 25)
        #endif
    }
}
