import CoreMetrics
import Foundation
public import Logging
import MartletCore
import NIOCore
public import ServiceLifecycle
import UnixSignals

/// The common startup of all processes: settings, log, metrics, and a service group that drains on a signal.
public enum ProcessStart {
    /// Runs the services that `build` returns until SIGTERM or SIGINT. On failure, prints one line with the reason and
    /// exits with status 1.
    public static func run(
        name: String,
        build: @Sendable (Settings, Logger, MetricsRegistry) async throws -> [any Service]
    ) async {
        let metrics = MetricsRegistry()
        MetricsSystem.bootstrap(metrics)
        do {
            let settings = try await Settings()
            try Settings.refuseUnknown(of: name)
            let level = try logLevel(settings)
            LoggingSystem.bootstrap { _ in JSONLogHandler(service: name, level: level) }
            let logger = Logger(label: name)
            signal(SIGPIPE, SIG_IGN)
            try OpenFileLimit.raise()
            let services = try await build(settings, logger, metrics)
            logger.info("Started.")
            var configuration = ServiceGroupConfiguration(
                services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            configuration.maximumGracefulShutdownDuration = .seconds(30)
            try await ServiceGroup(configuration: configuration).run()
            logger.info("Stopped.")
            LogSink.standardError.flush()
        } catch {
            LogSink.standardError.flush()
            FileHandle.standardError.write(Data("\(name): \(sentence(error))\n".utf8))
            exit(1)
        }
    }

    /// Replaces NIO's error for a port in use, which names neither the port nor its setting.
    private static func sentence(_ error: any Error) -> String {
        guard let error = error as? IOError, error.errnoCode == EADDRINUSE else { return "\(error)" }
        let settings = "\(SettingNames.variable("http.port")), \(SettingNames.variable("internal.port"))"
        return "cannot listen: another process uses the port (\(settings))"
    }

    private static func logLevel(_ settings: Settings) throws -> Logger.Level {
        let text = settings.string("log.level", default: "info")
        guard let level = Logger.Level(rawValue: text) else {
            throw SettingsError(
                key: "log.level", problem: "must be trace, debug, info, notice, warning, error or critical")
        }
        return level
    }
}
