import GatewayService
import Logging
import MartletCore
import MartletHTTP
import ServiceLifecycle

@main
enum Main {
    static func main() async {
        await ProcessStart.run(name: "gateway") { settings, logger, metrics in
            var configuration = try GatewayConfiguration(settings)
            configuration.requestLines = RequestLines.write
            configuration.logsRequests = configuration.logsRequests && logger.logLevel <= .info
            let exporter = try TraceExporter(process: "gateway", settings: settings, logger: logger)
            if let exporter { try configuration.readTraces(settings, into: exporter.queue) }
            let gateway = try Gateway(configuration: configuration, logger: logger)
            let internalServer = InternalServer.make(
                host: settings.string("internal.host", default: "127.0.0.1"),
                port: try settings.integer("internal.port", default: 9080, in: 0...65_535), metrics: metrics,
                logger: logger,
                isReady: { gateway.isReady })
            let auth = ServiceAddress(
                name: ServiceName.auth.rawValue,
                url: try settings.url("keyring.url", default: ServiceName.auth.localURL))
            let reporter = UsageReporter(
                process: "gateway", metrics: metrics, logger: logger, auth: auth,
                internalSecret: configuration.internalSecret)
            // Services stop in reverse order, so the exporter stops last and can send the spans of the last requests.
            let first: [any Service] = exporter.map { [$0] } ?? []
            return first + [reporter, internalServer, HangUpService(reload: gateway.reloadRoutes), gateway]
        }
    }
}
