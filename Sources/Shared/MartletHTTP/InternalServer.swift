import HTTPTypes
public import Hummingbird
public import Logging
import MartletAPI
import MartletCore

/// The internal port with `/health/live`, `/health/ready` and `/metrics`, bound to an address that clients cannot
/// reach.
public enum InternalServer {
    public static func make(
        host: String, port: Int, metrics: MetricsRegistry, logger: Logger, isReady: @escaping @Sendable () async -> Bool
    ) -> some ApplicationProtocol {
        let router = Router(context: BasicRequestContext.self)
        router.get("health/live") { _, _ in "ok\n" }
        router.get("health/ready") { _, _ in await readiness(isReady) }
        router.get("metrics") { _, _ in
            ProcessMetrics.update()
            return Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: metrics.text())))
        }
        var logger = logger
        logger.logLevel = .warning
        return Application(
            router: router, configuration: .init(address: .hostname(host, port: port), serverName: nil), logger: logger)
    }

    static func readiness(_ isReady: @Sendable () async -> Bool) async -> Response {
        let ready = await isReady()
        return Response(
            status: ready ? .ok : .serviceUnavailable,
            headers: [HTTPField.Name(HeaderName.version)!: MartletVersion.current],
            body: .init(byteBuffer: ByteBuffer(string: ready ? "ready\n" : "not ready\n")))
    }
}
