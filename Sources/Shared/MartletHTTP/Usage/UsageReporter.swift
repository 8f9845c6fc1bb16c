public import Logging
import MartletAPI
import MartletBackground
public import MartletCore
public import ServiceLifecycle

/// Reports about every minute what this process and its machine use. `auth` keeps the history.
///
/// A failed report is not repeated, so the history has a gap, as when a process is down.
public struct UsageReporter: Service {
    /// Shorter than a minute, so that every minute of the history has a value.
    private static let interval: Duration = .seconds(57)

    private let process: String
    private let metrics: MetricsRegistry
    private let logger: Logger
    private let send: @Sendable (UsageReport) async throws -> Void

    /// - Parameter send: Sends or stores a report.
    init(
        process: String, metrics: MetricsRegistry, logger: Logger,
        send: @escaping @Sendable (UsageReport) async throws -> Void
    ) {
        self.process = process
        self.metrics = metrics
        self.logger = logger
        self.send = send
    }

    /// Reports to `auth` over HTTP.
    ///
    /// - Parameter process: The process's name.
    public init(
        process: String, metrics: MetricsRegistry, logger: Logger, auth: ServiceAddress, internalSecret: Secret
    ) {
        let calls = ServiceCalls(caller: process, internalSecret: internalSecret)
        self.init(process: process, metrics: metrics, logger: logger) { report in
            _ = try await calls.post("/internal/status", report, to: auth, upTo: 1 << 10, within: .seconds(10))
        }
    }

    public func run() async throws {
        await cancelWhenGracefulShutdown {
            var meter = UsageMeter(process: process, metrics: metrics)
            // Jitter: processes that start together do not report together.
            await NotifiedLoop(every: Self.interval, jitter: 0.9...1, startsAtOnce: false).run {
                await attempt(
                    "Could not report the use of CPU and memory; the history will have a gap.", level: .notice,
                    logger: logger
                ) { try await send(UsageReport(values: meter.take())) }
            }
        }
    }
}
