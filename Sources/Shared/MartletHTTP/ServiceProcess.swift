import CoreMetrics
import Foundation
public import Hummingbird
import HummingbirdCore
public import Logging
public import MartletCore
import NIOCore
public import ServiceLifecycle

/// One of Martlet's services, as a process runs it.
public protocol ServiceDefinition: Sendable {
    /// Names the process in logs and principals.
    static var name: String { get }
    /// Port of the routes when `http.port` is not set; health and metrics are 1,000 above.
    static var defaultPort: Int { get }

    /// Reads the service's own settings and builds what it needs; opens nothing yet.
    init(settings: Settings, logger: Logger) throws

    /// What must run beside the HTTP server, in order of start.
    var background: [any Service] { get }

    /// What the service holds of end users. `NoUserData` only while that is so: with the first table that has data of users it has to go.
    var userData: any UserDataHolder { get }

    /// True when requests can be served.
    func isReady() async -> Bool

    /// All routes of the service. Every one is behind `PrincipalMiddleware`.
    func addRoutes(to router: Router<ServiceContext>)
}

/// What the `main` of every service does: read configuration, build, run until SIGTERM, drain.
///
/// Settings: `http.host` (127.0.0.1), `http.port`, `http.socket` (path of a Unix domain socket to listen on as well), `internal.host` (127.0.0.1), `internal.port`, `internal.secret`
/// (secret, ≥ 32 characters), `log.level` (info).
public enum ServiceProcess {
    public static func run<Definition: ServiceDefinition>(_: Definition.Type) async {
        await ProcessStart.run(name: Definition.name) { settings, logger, metrics in
            let definition = try Definition(settings: settings, logger: logger)
            let signer = PrincipalSigner(internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32))
            let router = makeRouter(definition, signer: signer)
            let port = try settings.integer("http.port", default: Definition.defaultPort, in: 0...65_535)
            var addresses: [BindAddress] = [.hostname(settings.string("http.host", default: "127.0.0.1"), port: port)]
            if let path = settings.optionalString("http.socket") { addresses.append(try socket(path)) }
            let responder = router.buildResponder()
            let servers = addresses.map { address in
                // A connection to a full socket is refused at once, where TCP would try again.
                Application(
                    responder: responder,
                    configuration: .init(
                        address: address, serverName: nil, backlog: 4_096,
                        availableConnectionsDelegate: MaximumAvailableConnections(OpenFileLimit.connections / addresses.count)),
                    logger: logger)
            }
            let internalServer = InternalServer.make(
                host: settings.string("internal.host", default: "127.0.0.1"),
                port: try settings.integer("internal.port", default: Definition.defaultPort + 1_000, in: 0...65_535),
                metrics: metrics, logger: logger, isReady: definition.isReady)
            return definition.background + [internalServer, Together(services: servers)]
        }
    }

    /// - Throws: `SettingsError` when the path cannot be one, or another process listens there: starting would take its place.
    private static func socket(_ path: String) throws -> BindAddress {
        guard path.hasPrefix("/"), let address = try? SocketAddress(unixDomainSocketPath: path) else {
            throw SettingsError(key: "http.socket", problem: "must be an absolute path of at most 107 bytes")
        }
        guard !address.isListenedTo else { throw SettingsError(key: "http.socket", problem: "is in use by another process") }
        return .unixDomainSocket(path: path)
    }

    /// Servers that stop accepting at the same moment; one by one, the last would have what the others left of the time to drain.
    private struct Together<Member: Service>: Service {
        let services: [Member]

        func run() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for service in services { group.addTask { try await service.run() } }
                try await group.waitForAll()
            }
        }
    }

    /// The service's routes behind its middleware, for the process and for tests.
    public static func makeRouter(_ definition: some ServiceDefinition, signer: PrincipalSigner) -> Router<ServiceContext> {
        let router = Router(context: ServiceContext.self, options: .autoGenerateHeadEndpoints)
        // For the gateway's health checks, which come in by the same port as the requests.
        router.get("health/ready") { _, _ in await InternalServer.readiness(definition.isReady) }
        router.add(middleware: RequestLineMiddleware())
        router.add(middleware: FormQueryMiddleware())
        router.add(middleware: PrincipalMiddleware(signer: signer))
        router.on(.post, "internal/users/erase", EraseUserData(holder: definition.userData))
        router.on(.post, "internal/users/export", ExportUserData(holder: definition.userData))
        definition.addRoutes(to: router)
        router.refuseOtherMethods()
        return router
    }
}
