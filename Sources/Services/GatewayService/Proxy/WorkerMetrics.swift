import MartletAPI
import Metrics
import NIOCore

/// Metrics of one event loop, passed to swift-metrics at each tick, so that counting a request takes no lock.
final class WorkerMetrics {
    private let names: [String]
    private var counts: [Int]
    /// Counts since the last `take`, by upstream name and status class.
    private var reported: [Tally]
    private var bytesIn: Int64 = 0
    private var bytesOut: Int64 = 0
    private let counters: [Counter]
    private let timers: [Metrics.Timer]
    private let bytesInCounter = Counter(label: "martlet_gateway_received_bytes_total")
    private let bytesOutCounter = Counter(label: "martlet_gateway_sent_bytes_total")
    private let lateBodies = Counter(label: "martlet_gateway_bodies_late")
    private let overloads = Counter(label: "martlet_gateway_overloads")
    private let descriptorShortages = Counter(label: "martlet_gateway_descriptors_lacking")

    private let slowReaders = Counter(label: "martlet_gateway_slow_readers")

    struct Tally {
        var count = 0
        var microseconds: Int64 = 0
    }

    private static let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"]

    init(upstreamNames: [String]) {
        // The last name stands for requests without a route.
        names = upstreamNames + ["none"]
        counts = Array(repeating: 0, count: names.count * Self.classes.count)
        reported = Array(repeating: Tally(), count: counts.count)
        counters = names.flatMap { name in
            Self.classes.map {
                Counter(label: "martlet_gateway_requests_total", dimensions: [("upstream", name), ("status", $0)])
            }
        }
        timers = names.map { Metrics.Timer(label: "martlet_gateway_request_duration", dimensions: [("upstream", $0)]) }
    }

    func count(_ exchange: Exchange, _ duration: TimeAmount) {
        let name = exchange.route?.upstreamIndex ?? names.count - 1
        let statusClass = min(max(exchange.status / 100, 1), 5) - 1
        let index = name * Self.classes.count + statusClass
        counts[index] += 1
        reported[index].count += 1
        reported[index].microseconds += duration.nanoseconds / 1_000
        bytesIn += exchange.bytesIn
        bytesOut += exchange.bytesOut
        timers[name].recordNanoseconds(duration.nanoseconds)
    }

    /// Counts a body that was refused because it arrived too slowly.
    func countLateBody() { lateBodies.increment() }

    /// Counts a request that was refused because no descriptor was left for an upstream connection.
    func countDescriptorShortage() { descriptorShortages.increment() }

    /// Counts a request that was refused because too many of its kind wait for their answers.
    func countOverload() { overloads.increment() }

    /// Counts a connection that was closed because its client read an answer too slowly.
    func countSlowReader() { slowReaders.increment() }

    /// Returns the counts since the last call, by service and status class.
    func take() -> [RequestCounts.Count] {
        defer { reported = Array(repeating: Tally(), count: reported.count) }
        return reported.enumerated().compactMap { index, tally in
            guard tally.count > 0 else { return nil }
            let (name, statusClass) = index.quotientAndRemainder(dividingBy: Self.classes.count)
            return .init(
                service: names[name], statusClass: statusClass + 1, count: tally.count, microseconds: tally.microseconds
            )
        }
    }

    func flush() {
        for index in counts.indices where counts[index] > 0 {
            counters[index].increment(by: counts[index])
            counts[index] = 0
        }
        if bytesIn > 0 { bytesInCounter.increment(by: bytesIn) }
        if bytesOut > 0 { bytesOutCounter.increment(by: bytesOut) }
        bytesIn = 0
        bytesOut = 0
    }
}
