import CoreMetrics
import Foundation
public import Hummingbird
public import Logging
public import MartletCore
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

    /// True when requests can be served.
    func isReady() async -> Bool

    /// All routes of the service. Every one is behind `PrincipalMiddleware`.
    func addRoutes(to router: Router<ServiceContext>)
}

/// What the `main` of every service does: read configuration, build, run until SIGTERM, drain.
///
/// Settings: `http.host` (127.0.0.1), `http.port`, `internal.host` (127.0.0.1), `internal.port`, `internal.secret`
/// (secret, ≥ 32 characters), `log.level` (info).
public enum ServiceProcess {
    public static func run<Definition: ServiceDefinition>(_: Definition.Type) async {
        await ProcessStart.run(name: Definition.name) { settings, logger, metrics in
            let definition = try Definition(settings: settings, logger: logger)
            let signer = PrincipalSigner(internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32))
            let router = makeRouter(definition, signer: signer)
            let port = try settings.integer("http.port", default: Definition.defaultPort, in: 0...65_535)
            let server = Application(
                router: router,
                configuration: .init(
                    address: .hostname(settings.string("http.host", default: "127.0.0.1"), port: port), serverName: nil),
                logger: logger)
            let internalServer = InternalServer.make(
                host: settings.string("internal.host", default: "127.0.0.1"),
                port: try settings.integer("internal.port", default: Definition.defaultPort + 1_000, in: 0...65_535),
                metrics: metrics, logger: logger, isReady: definition.isReady)
            return definition.background + [internalServer, server]
        }
    }

    /// The service's routes behind its middleware, for the process and for tests.
    public static func makeRouter(_ definition: some ServiceDefinition, signer: PrincipalSigner) -> Router<ServiceContext> {
        let router = Router(context: ServiceContext.self, options: .autoGenerateHeadEndpoints)
        // For the gateway's health checks, which come in by the same port as the requests.
        router.get("health/ready") { _, _ in await InternalServer.readiness(definition.isReady) }
        router.add(middleware: RequestLineMiddleware())
        router.add(middleware: PrincipalMiddleware(signer: signer))
        definition.addRoutes(to: router)
        return router
    }
}
