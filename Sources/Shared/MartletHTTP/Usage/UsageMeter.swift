/// Measures what this process and its machine use between two calls.
struct UsageMeter {
    /// A statement that takes longer is slow. A bound of `postgres_query_duration_seconds`.
    static let slowStatementInSeconds = 1.0

    private struct Reading {
        let time = ContinuousClock.now
        let host = HostReading.current()
        let process = ProcessReading.current()
        /// Nil in a process without a database.
        let slowStatements: Int64?
    }

    private let process: String
    private let metrics: MetricsRegistry
    private var last: Reading

    /// - Parameter process: The name of the process in the series `processes.<name>.…`.
    init(process: String, metrics: MetricsRegistry) {
        self.process = process
        self.metrics = metrics
        last = Self.read(metrics)
    }

    /// Values by name of the series, since the last call or the meter's creation.
    mutating func take() -> [String: Double] {
        let (earlier, now) = (last, Self.read(metrics))
        last = now
        let seconds: Double = earlier.time.duration(to: now.time) / Duration.seconds(1)
        guard seconds > 0 else { return [:] }
        var own: [String: Double] = [:]
        if let start = earlier.process.cpuSeconds, let end = now.process.cpuSeconds {
            own["cpu"] = max(0, end - start) / seconds * 100
        }
        own["memory"] = now.process.residentBytes.map { Double($0) }
        own["files"] = now.process.openFiles.map { Double($0) }
        if let count = now.slowStatements {
            own["slow"] = Double(count - (earlier.slowStatements ?? 0)) / seconds * 60
        }
        var values = now.host.values(since: earlier.host, seconds: seconds)
        for (name, value) in own { values["processes.\(process).\(name)"] = value }
        return values
    }

    private static func read(_ metrics: MetricsRegistry) -> Reading {
        Reading(slowStatements: metrics.count(of: "postgres_query_duration_seconds", above: slowStatementInSeconds))
    }
}
