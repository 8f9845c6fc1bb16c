import Foundation
import MartletAPI
import MartletCore

/// What came of asking analytics: which metrics are there, and why others are not.
struct Measurement: Sendable {
    enum State: String, Sendable {
        /// As of half a minute ago at most, or all that there will be.
        case current
        /// It was not its turn: whoever asks again goes on with it.
        case pending
        case failed
    }

    struct Metric: Sendable {
        let name: String
        var state: State
        /// Of the sums that are shown; nil: there are none.
        var asOf: Date?
        var problem: Conversions.Problem?
    }

    /// Those that name an event, in their order; empty where nobody was given anything yet.
    var metrics: [Metric] = []
    var seen: MeasuredExperiment.Seen?

    private var problem: Conversions.Problem? {
        let problems = metrics.compactMap(\.problem)
        return problems.contains(.unavailable) ? .unavailable : problems.first
    }

    /// Null where no metric names an event, or nobody was given anything yet.
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

    /// For keeping.
    var text: String {
        JSONValue.object([.init("units", Self.json(units)), .init("multipleExposures", .count(multipleExposures))]).text
    }

    /// Nil for what is no such text.
    init?(_ text: String) {
        struct Stored: Decodable {
            var units: [String: Int]
            var multipleExposures: Int
        }
        guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(text.utf8)) else { return nil }
        self.init(units: stored.units, multipleExposures: stored.multipleExposures)
    }
}
