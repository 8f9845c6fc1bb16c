import CoreMetrics
import Foundation
public import Hummingbird
import HummingbirdCore
public import Logging
public import MartletAPI
public import MartletCore
import NIOCore
public import ServiceLifecycle

/// One of Martlet's services, run as a process.
public protocol ServiceDefinition: Sendable {
    /// The name of the process in logs and principals.
    static var name: String { get }
    /// The port of the routes if `http.port` is not set; health and metrics are at 1,000 above it.
    static var defaultPort: Int { get }

    /// Reads the service's settings and creates its components, without opening connections.
    init(settings: Settings, logger: Logger) throws

    /// Background services that run beside the HTTP server, in start order.
    var background: [any Service] { get }

    /// The end-user data that the service stores. Replace `NoUserData` as soon as a table contains user data.
    var userData: any UserDataHolder { get }

    /// Whether answers to clients may be compressed. False if secrets and text from the caller can appear together.
    var compressesAnswers: Bool { get }

    /// Stores what the process uses. Nil if it is reported to `auth`.
    var recordUsage: (@Sendable (UsageReport) async throws -> Void)? { get }

    /// Whether requests can be served.
    func isReady() async -> Bool

    /// Adds all routes of the service. All of them are behind `PrincipalMiddleware`.
    func addRoutes(to routes: inout RouteTable)
}

extension ServiceDefinition {
    public var compressesAnswers: Bool { true }
    public var recordUsage: (@Sendable (UsageReport) async throws -> Void)? { nil }

    /// All routes of the service, with those that every service has.
    public var routes: RouteTable {
        var routes = RouteTable()
        routes.on(EraseUserData.route, EraseUserData(holder: userData))
        routes.on(ExportUserData.route, ExportUserData(holder: userData))
        addRoutes(to: &routes)
        return routes
    }
}

/// The `main` of every service: reads the configuration, builds the service, runs it until SIGTERM and drains.
///
/// Settings: `http.host` (127.0.0.1), `http.port`, `http.socket` (path of an additional Unix domain socket to listen
/// on), `internal.host` (127.0.0.1), `internal.port`, `internal.secret` (secret, ≥ 32 characters), `log.level` (info);
/// those of `MemoryBudgets` and `TraceExporter`; `services.auth`, to which the use of CPU and memory is reported (by
/// services other than auth).
public enum ServiceProcess {
    public static func run<Definition: ServiceDefinition>(_: Definition.Type) async {
        await ProcessStart.run(name: Definition.name) { settings, logger, metrics in
            let definition = try Definition(settings: settings, logger: logger)
            let secret = try settings.requiredSecret("internal.secret", minimumLength: 32)
            let signer = PrincipalSigner(internalSecret: secret)
            let exporter = try TraceExporter(process: Definition.name, settings: settings, logger: logger)
            let router = makeRouter(
                definition, signer: signer, memory: try MemoryBudgets(settings), spans: exporter?.queue)
            let port = try settings.integer("http.port", default: Definition.defaultPort, in: 0...65_535)
            var addresses: [BindAddress] = [.hostname(settings.string("http.host", default: "127.0.0.1"), port: port)]
            if let path = settings.optionalString("http.socket") { addresses.append(try socket(path)) }
            let responder = router.buildResponder()
            let direct = DirectResponder(definition, signer: signer, spans: exporter?.queue, logger: logger)
            let servers = addresses.map { address in
                // If a Unix socket's backlog is full, connections are refused at once, whereas TCP would retry.
                Application(
                    responder: responder,
                    server: .http1(
                        configuration: .init(additionalChannelHandlers: direct.map { [DirectHandler($0)] } ?? [])),
                    configuration: .init(
                        address: address, serverName: nil, backlog: 4_096,
                        availableConnectionsDelegate: MaximumAvailableConnections(
                            OpenFileLimit.connections / addresses.count)),
                    logger: logger)
            }
            let internalServer = InternalServer.make(
                host: settings.string("internal.host", default: "127.0.0.1"),
                port: try settings.integer("internal.port", default: Definition.defaultPort + 1_000, in: 0...65_535),
                metrics: metrics, logger: logger, isReady: definition.isReady)
            let reporter: UsageReporter
            if let record = definition.recordUsage {
                reporter = UsageReporter(process: Definition.name, metrics: metrics, logger: logger, send: record)
            } else {
                reporter = UsageReporter(
                    process: Definition.name, metrics: metrics, logger: logger,
                    auth: try ServiceAddress(.auth, settings), internalSecret: secret)
            }
            // Services stop in reverse order, so the exporter stops last and can send the spans of the last requests.
            let first: [any Service] = exporter.map { [$0] } ?? []
            return first + definition.background
                + [reporter, internalServer, ConcurrentServices(services: servers)]
        }
    }

    /// - Throws: `SettingsError` if the path is invalid, or if another process listens on it, because starting would
    ///   replace its socket.
    private static func socket(_ path: String) throws -> BindAddress {
        guard path.hasPrefix("/"), let address = try? SocketAddress(unixDomainSocketPath: path) else {
            throw SettingsError(key: "http.socket", problem: "must be an absolute path of at most 107 bytes")
        }
        guard !address.isListenedTo else {
            throw SettingsError(key: "http.socket", problem: "is in use by another process")
        }
        return .unixDomainSocket(path: path)
    }

    /// Runs servers that must stop accepting at the same moment. One by one, the last would only have the rest of the
    /// drain time.
    private struct ConcurrentServices<Member: Service>: Service {
        let services: [Member]

        func run() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for service in services { group.addTask { try await service.run() } }
                try await group.waitForAll()
            }
        }
    }

    /// The service's routes behind its middleware, for the process and for tests.
    ///
    /// - Parameter spans: Receives the spans of traced requests; nil if none is traced.
    public static func makeRouter(
        _ definition: some ServiceDefinition, signer: PrincipalSigner, memory: MemoryBudgets = MemoryBudgets(),
        spans: SpanQueue? = nil
    ) -> Router<ServiceContext> {
        let router = Router(context: ServiceContext.self, options: .autoGenerateHeadEndpoints)
        // For the gateway's health checks, which use the same port as requests.
        router.get("health/ready") { _, _ in await InternalServer.readiness(definition.isReady) }
        router.add(middleware: RequestLineMiddleware(spans: spans))
        router.add(middleware: MemoryMiddleware(budgets: memory))
        if definition.compressesAnswers { router.add(middleware: CompressionMiddleware()) }
        router.add(middleware: LocationMiddleware())
        router.add(middleware: FormQueryMiddleware())
        router.add(middleware: PrincipalMiddleware(signer: signer))
        definition.routes.bind(to: router)
        return router
    }
}
