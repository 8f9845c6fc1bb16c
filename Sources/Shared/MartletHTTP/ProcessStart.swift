import CoreMetrics
import Foundation
public import Logging
import MartletCore
import NIOCore
public import ServiceLifecycle
import UnixSignals

/// The part of starting that all processes share: settings, log, metrics, and a group of services that a signal drains.
public enum ProcessStart {
    /// Runs what `build` returns until SIGTERM or SIGINT, or exits with status 1 and one line that says why.
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
            logger.info("started")
            var configuration = ServiceGroupConfiguration(
                services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            configuration.maximumGracefulShutdownDuration = .seconds(30)
            try await ServiceGroup(configuration: configuration).run()
            logger.info("stopped")
            LogSink.standardError.flush()
        } catch {
            LogSink.standardError.flush()
            FileHandle.standardError.write(Data("\(name): \(sentence(error))\n".utf8))
            exit(1)
        }
    }

    /// NIO's error for a port that is in use names neither the port nor its setting.
    private static func sentence(_ error: any Error) -> String {
        guard let error = error as? IOError, error.errnoCode == EADDRINUSE else { return "\(error)" }
        let settings = "\(SettingNames.variable("http.port")), \(SettingNames.variable("internal.port"))"
        return "cannot listen: another process uses the port (\(settings))"
    }

    private static func logLevel(_ settings: Settings) throws -> Logger.Level {
        let text = settings.string("log.level", default: "info")
        guard let level = Logger.Level(rawValue: text) else {
            throw SettingsError(key: "log.level", problem: "must be trace, debug, info, notice, warning, error or critical")
        }
        return level
    }
}
