import Logging
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// The public port: accepts connections and gives each to the worker of its event loop.
struct Listener: Sendable {
    let workers: [Worker]
    let settings: Settings
    let certificates: Certificates?
    private let connectionCount = ConnectionCount()

    init(workers: [Worker], settings: Settings, certificates: Certificates?) {
        self.workers = workers
        self.settings = settings
        self.certificates = certificates
    }

    func bind(host: String, port: Int, on group: any EventLoopGroup) async throws -> any Channel {
        let isSecure = certificates != nil
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.tcpOption(.unsentBytes), value: 128 * 1024)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: !isSecure)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try initialize(channel) }
            }
            .bind(host: host, port: port)
            .get()
    }

    private func initialize(_ channel: any Channel) throws {
        guard let worker = workers.first(where: { $0.eventLoop === channel.eventLoop }),
            connectionCount.enter(limit: settings.limits.maximumConnections)
        else { throw ChannelError.inputClosed }
        channel.closeFuture.whenComplete { [connectionCount] _ in connectionCount.leave() }
        let client = ClientConnection(channel.remoteAddress, isSecure: certificates != nil, settings: settings)
        if let certificates {
            try secure(channel, client, worker, certificates.context)
        } else {
            try channel.pipeline.syncOperations.addHandler(HTTP1Connection(client: client, worker: worker))
        }
    }

    private func secure(_ channel: any Channel, _ client: ClientConnection, _ worker: Worker, _ context: NIOSSLContext) throws {
        let impatience = channel.eventLoop.assumeIsolated().scheduleTask(in: settings.headerTimeout) {
            channel.close(promise: nil)
        }
        let negotiation = ApplicationProtocolNegotiationHandler { (result: ALPNResult, channel: any Channel) in
            impatience.cancel()
            return channel.eventLoop.makeCompletedFuture {
                if case .negotiated("h2") = result {
                    try HTTP2.configure(channel, client: client, worker: worker)
                } else {
                    try channel.pipeline.syncOperations.addHandler(HTTP1Connection(client: client, worker: worker))
                }
            }
        }
        channel.closeFuture.assumeIsolated().whenComplete { _ in impatience.cancel() }
        try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: context), negotiation)
    }
}

/// How many clients are connected, over all event loops.
private final class ConnectionCount: Sendable {
    private let count = Atomic<Int>(0)

    func enter(limit: Int) -> Bool {
        if count.wrappingAdd(1, ordering: .relaxed).newValue <= limit { return true }
        leave()
        return false
    }

    func leave() { count.wrappingSubtract(1, ordering: .relaxed) }
}

extension NIOBSDSocket.Option {
    /// How much of what a client is sent waits in the kernel (TCP_NOTSENT_LOWAT): more would hide for minutes that it is not read.
    fileprivate static var unsentBytes: NIOBSDSocket.Option { NIOBSDSocket.Option(rawValue: 25) }
}
