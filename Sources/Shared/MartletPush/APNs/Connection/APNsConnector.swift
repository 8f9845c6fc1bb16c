import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Opens connections: TCP, TLS with ALPN `h2`, HTTP/2.
struct APNsConnector: Sendable {
    let loop: any EventLoop
    private let configuration: APNsConfiguration
    private let tls: NIOSSLContext

    /// - Throws: If the trusted certificates cannot be read.
    init(_ configuration: APNsConfiguration, on loop: any EventLoop) throws {
        self.loop = loop
        self.configuration = configuration
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        if let pem = configuration.trustedCertificates {
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        }
        self.tls = try NIOSSLContext(configuration: tls)
    }

    /// - Parameter failed: Called on the loop if no channel could be created for the connection.
    func connect(_ connection: APNsConnection, failed: @escaping (any Error) -> Void) {
        // SNI only supports names.
        let name = (try? SocketAddress(ipAddress: configuration.host, port: 0)) == nil ? configuration.host : nil
        ClientBootstrap(group: loop)
            .connectTimeout(configuration.connectLimit)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { [tls] channel in
                // A host with several addresses gets a channel for each, and one of them remains.
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: tls, serverHostname: name))
                }
            }
            .connect(host: configuration.host, port: configuration.port)
            .assumeIsolated()
            .flatMapThrowing { [configuration] channel in
                try channel.pipeline.syncOperations.addHandler(Self.http2(configuration))
                try channel.pipeline.syncOperations.addHandler(connection)
            }
            .whenFailure(failed)
    }

    private static func http2(_ configuration: APNsConfiguration) -> NIOHTTP2Handler {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
        ]
        // Answers that arrive late must not count as errors of the connection.
        connection.maximumRecentlyResetStreams = configuration.maximumStreams
        return NIOHTTP2Handler(mode: .client, connectionConfiguration: connection)
    }
}
