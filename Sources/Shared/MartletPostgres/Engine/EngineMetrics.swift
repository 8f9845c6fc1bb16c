import Metrics

/// The `postgres_…` metrics. Counts are collected on the engine's thread and reported once per turn.
struct EngineMetrics {
    private let queries = Counter(label: "postgres_queries_total")
    private let duration = Timer(label: "postgres_query_duration")
    private let waiting = Gauge(label: "postgres_queries_waiting")
    private let inFlight = Gauge(label: "postgres_queries_in_flight")
    private let connections = Gauge(label: "postgres_connections")
    private var errors: [PostgresError.Code: Counter] = [:]

    private var answered = 0
    private var last = (waiting: -1, inFlight: -1, connections: -1)

    mutating func didAnswer(after nanoseconds: Nanoseconds) {
        answered += 1
        duration.recordNanoseconds(nanoseconds)
    }

    mutating func didFail(_ code: PostgresError.Code) {
        let counter = errors[code] ?? Counter(label: "postgres_errors_total", dimensions: [("code", code.description)])
        errors[code] = counter
        counter.increment()
    }

    mutating func report(waiting: Int, inFlight: Int, connections: Int) {
        if answered > 0 { queries.increment(by: answered) }
        answered = 0
        if waiting != last.waiting { self.waiting.record(waiting) }
        if inFlight != last.inFlight { self.inFlight.record(inFlight) }
        if connections != last.connections { self.connections.record(connections) }
        last = (waiting, inFlight, connections)
    }
}
