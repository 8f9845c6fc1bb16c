import CoreMetrics

/// The metrics of the sender.
struct DeliveryMetrics: Sendable {
    /// Deliveries that are claimed and whose results are not yet written.
    let inFlight = Gauge(label: "martlet.notifications.deliveries.in.hand")
    /// Deliveries taken back from instances that died.
    let rescued = Counter(label: "martlet_notifications_deliveries_rescued_total")
    private let ends: [DeliveryEnd: Counter]
    private let again = Self.counter("again")

    init() {
        ends = Dictionary(uniqueKeysWithValues: DeliveryEnd.allCases.map { ($0, Self.counter($0.rawValue)) })
    }

    func count(_ verdict: Verdict) {
        switch verdict {
        case .ended(let end, _, _): ends[end]?.increment()
        case .again: again.increment()
        }
    }

    private static func counter(_ outcome: String) -> Counter {
        Counter(label: "martlet_notifications_deliveries_total", dimensions: [("outcome", outcome)])
    }
}
