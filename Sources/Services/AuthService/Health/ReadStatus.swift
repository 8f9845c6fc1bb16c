import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadStatus: Endpoint {
    static let route = Route(
        .get, "/admin/status", "readStatus",
        "Reads the history of CPU, memory, disk, network, the database and waiting jobs.",
        callers: .staff(.read, .status),
        parameters: [
            .query(
                "group", .oneOf(StatusGroup.allCases.map(\.rawValue)),
                "Which series: of the machines, of Martlet's processes, of the database, or of waiting jobs.",
                isRequired: true),
            .query("from", .time, "The start; by default a day before `to`."),
            .query("to", .time, "The end, exclusive; by default now."),
        ],
        details: """
            The resolution is the finest one that still has data for the start and needs at most 800 points: a minute \
            (kept for 2 days), 15 minutes (15 days), an hour (62 days) or a day (13 months). The range may have at \
            most 800 days.

            Each process reports once a minute. With several copies or machines, a value is the average, or the \
            maximum, of all. OPERATIONS.md lists the series with their units.

            Requests are counted by `listRequestCounts`.
            """,
        answers: [
            .answer(200, "The series of the group that have a value in the range.", .json(.statusHistory))
        ])

    let store: StatusStore
    let now: @Sendable () -> Date

    struct History: Encodable {
        struct Series: Encodable {
            var name: String
            var averages: [Double?]
            var maxima: [Double?]
        }

        var from: Date
        var intervalInSeconds: Int
        var series: [Series]
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        // The route refuses every other name.
        let group = StatusGroup(rawValue: String(request.uri.queryParameters["group"] ?? "")) ?? .host
        let time = now()
        let to = try request.time("to") ?? time
        let from = try request.time("from") ?? to.addingTimeInterval(-86_400)
        guard from < to, let resolution = StatusResolution.finest(from: from, to: to, now: time) else {
            throw ServiceError(
                .invalidParameter,
                "Expected a time before to, at most \(StatusResolution.maximumPoints) days earlier.",
                field: "from")
        }
        let start = resolution.start(of: from)
        let rows = try await store.rows(of: group, from: start, to: to, at: resolution)
        return try .encoding(Self.history(of: group, rows, from: start, to: to, at: resolution))
    }

    /// - Parameter start: The start of an interval.
    private static func history(
        of group: StatusGroup, _ rows: [StatusStore.Row], from start: Date, to: Date, at resolution: StatusResolution
    ) -> History {
        let length = Double(resolution.seconds)
        let empty = [Double?](repeating: nil, count: Int((to.timeIntervalSince(start) / length).rounded(.up)))
        var found: [String: History.Series] = [:]
        for row in rows {
            let index = Int(row.start.timeIntervalSince(start) / length)
            guard empty.indices.contains(index) else { continue }
            found[row.series, default: .init(name: row.series, averages: empty, maxima: empty)].set(
                rounded(row.average), rounded(row.maximum), at: index)
        }
        return History(
            from: start, intervalInSeconds: resolution.seconds, series: group.series.compactMap { found[$0] })
    }

    private static func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
}

extension ReadStatus.History.Series {
    fileprivate mutating func set(_ average: Double, _ maximum: Double, at index: Int) {
        averages[index] = average
        maxima[index] = maximum
    }
}

extension Schema {
    fileprivate static let statusHistory: Schema = component(
        "StatusHistory",
        .object(
            [
                "from": .time.described("The start of the first interval."),
                "intervalInSeconds": .integer,
                "series": .array(
                    of: .object(
                        [
                            "name": .string,
                            "averages": .array(of: .number.nullable).described(
                                "One value for each interval; null for those without a sample."),
                            "maxima": .array(of: .number.nullable),
                        ], required: ["name", "averages", "maxima"])),
            ], required: ["from", "intervalInSeconds", "series"]))
}
