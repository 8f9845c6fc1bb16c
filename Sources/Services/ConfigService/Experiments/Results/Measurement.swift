import Foundation
import MartletAPI
import MartletCore

/// The state of each metric after asking analytics, and why some have no values.
struct Measurement: Sendable {
    enum State: String, Sendable {
        /// At most half a minute old, or final.
        case current
        /// Not requested yet; the next request of the results continues with it.
        case pending
        case failed
    }

    struct Metric: Sendable {
        let name: String
        var state: State
        /// The time of the sums shown; nil if there are none.
        var asOf: Date?
        var problem: Conversions.Problem?
    }

    /// The metrics that name an event, in order; empty if no unit was exposed yet.
    var metrics: [Metric] = []
    var seen: MeasuredExperiment.Seen?

    private var problem: Conversions.Problem? {
        let problems = metrics.compactMap(\.problem)
        return problems.contains(.unavailable) ? .unavailable : problems.first
    }

    /// Null if no metric names an event or no unit was exposed yet.
    var json: JSONValue {
        guard !metrics.isEmpty else { return .null }
        return .object([
            .init("source", .string("analytics")), .init("problem", problem.map { .string($0.rawValue) } ?? .null),
            .init("complete", .bool(metrics.allSatisfy { $0.state == .current })),
            .init("seen", seen.map { MeasuredExperiment.Seen.json($0.units) } ?? .null),
            .init("multipleExposures", .count(seen?.multipleExposures)),
            .init("metrics", .object(metrics.map { .init($0.name, $0.json) })),
        ])
    }
}

extension Measurement.Metric {
    fileprivate var json: JSONValue {
        .object([
            .init("state", .string(state.rawValue)),
            .init("asOf", asOf.map { .string($0.formatted(.iso8601)) } ?? .null),
            .init("problem", problem.map { .string($0.rawValue) } ?? .null),
        ])
    }
}

extension MeasuredExperiment.Seen {
    fileprivate static func json(_ units: [String: Int]) -> JSONValue {
        .object(units.sorted { $0.key < $1.key }.map { .init($0.key, .count($0.value)) })
    }

    /// The stored form.
    var text: String {
        JSONValue.object([.init("units", Self.json(units)), .init("multipleExposures", .count(multipleExposures))]).text
    }

    /// Nil if the text is not in the stored form.
    init?(_ text: String) {
        struct Stored: Decodable {
            var units: [String: Int]
            var multipleExposures: Int
        }
        guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(text.utf8)) else { return nil }
        self.init(units: stored.units, multipleExposures: stored.multipleExposures)
    }
}
