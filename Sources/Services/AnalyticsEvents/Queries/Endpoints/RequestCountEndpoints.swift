import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Stores a gateway's counts of one minute. Idempotent: a report of the same minute is stored once.
struct AddRequestCounts: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/requests")

    let store: RequestCountStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let report = try await request.decoded(RequestCounts.self)
        guard report.counts.count <= RequestCounts.maximumCounts else {
            throw ServiceError(
                .limitExceeded, "A report may have at most \(RequestCounts.maximumCounts) counts.", field: "counts")
        }
        let time = now()
        guard report.minute <= time.addingTimeInterval(120), report.minute > time.addingTimeInterval(-7 * 86_400),
            Int(report.minute.timeIntervalSince1970) % 60 == 0
        else {
            throw ServiceError(
                .invalidBody, "Expected the start of a minute within the last 7 days.", field: "minute")
        }
        for count in report.counts {
            guard (1...64).contains(count.service.utf8.count), !count.service.utf8.contains(0),
                (0...9).contains(count.statusClass), count.count >= 0,
                count.microseconds >= 0
            else {
                throw ServiceError(
                    .invalidBody,
                    "Expected counts with a service, a status class of 0 to 9, and two non-negative numbers.",
                    field: "counts")
            }
        }
        try await store.add(report)
        return Response(status: .noContent)
    }
}

struct ListRequestCounts: Endpoint {
    static let route = Route(
        .get, "/admin/requests", "listRequestCounts",
        "Counts the requests at the gateways by interval (UTC), service and first digit of the status.",
        callers: .staff(.read, .status),
        parameters: [
            .query(
                "from", .time,
                "The start; by default an hour, a day or 30 days before `to`, for minutes, hours or days."),
            .query("to", .time),
            .query("interval", .oneOf("minute", "hour", "day").defaulting(to: "hour")),
            .tableFormat,
        ],
        details: """
            Needs the right to read `status`. Counts are kept by minute for two weeks, then by hour for 13 months. For \
            times older than two weeks, `interval=minute` returns a row for each hour.
            """,
        answers: [
            .answer(
                200, "A row for each interval, service and status class.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "interval": .time,
                                        "service": .string,
                                        "statusClass": .integer,
                                        "count": .integer,
                                        "averageMicroseconds": .integer.nullable,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ])

    enum Interval: String, CaseIterable {
        case minute, hour, day

        var minutes: Int {
            switch self {
            case .minute: 1
            case .hour: 60
            case .day: 1_440
            }
        }
    }

    static let maximumIntervals = 1_500

    let store: RequestCountStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.staff(may: .read, .status)
        let format: AnswerTable.Format = try request.format()
        let interval = try request.choice("interval", of: Interval.allCases, default: .hour)
        let to = try request.time("to") ?? now()
        let from =
            try request.time("from")
            ?? to.addingTimeInterval(interval == .minute ? -3_600 : interval == .hour ? -86_400 : -30 * 86_400)
        guard from < to, to.timeIntervalSince(from) <= Double(Self.maximumIntervals * interval.minutes * 60) else {
            throw ServiceError(
                .invalidParameter, "Expected a time before to, at most \(Self.maximumIntervals) intervals earlier.",
                field: "from")
        }
        var table = AnswerTable(
            head: [
                .init("from", .string(from.formatted(.iso8601))), .init("to", .string(to.formatted(.iso8601))),
                .init("interval", .string(interval.rawValue)),
            ],
            columns: ["interval", "service", "statusClass", "count", "averageMicroseconds"])
        table.rows = try await store.list(from: from, to: to, intervalInMinutes: interval.minutes).map { row in
            [
                .text(row.start.formatted(.iso8601)), .text(row.service), .count(row.statusClass), .count(row.count),
                .of(row.count > 0 ? row.microseconds / row.count : nil),
            ]
        }
        return table.response(format)
    }
}
