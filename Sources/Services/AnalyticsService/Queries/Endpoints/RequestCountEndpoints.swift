import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /internal/requests` with `RequestCounts`: 204, also for a minute that is known. For processes of ours.
struct AddRequestCounts: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/requests")

    let store: RequestCountStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let report = try await request.decoded(RequestCounts.self)
        guard report.counts.count <= RequestCounts.maximumCounts else {
            throw HTTPProblem(
                .limitExceeded, "A report has at most \(RequestCounts.maximumCounts) counts.", field: "counts")
        }
        let now = Date()
        guard report.minute <= now.addingTimeInterval(120), report.minute > now.addingTimeInterval(-7 * 86_400),
            Int(report.minute.timeIntervalSince1970) % 60 == 0
        else {
            throw HTTPProblem(
                .invalidBody, "This must be the start of a minute within the last 7 days.", field: "minute")
        }
        for count in report.counts {
            guard (1...64).contains(count.service.utf8.count), !count.service.utf8.contains(0),
                (0...9).contains(count.statusClass), count.count >= 0,
                count.microseconds >= 0
            else {
                throw HTTPProblem(
                    .invalidBody, "A service, a digit, and two numbers that are not negative.", field: "counts")
            }
        }
        try await store.add(report)
        return Response(status: .noContent)
    }
}

/// `GET /admin/requests?from=&to=&interval=minute|hour|day&format=`: requests at the gateways by interval (UTC),
/// service and first digit of the status; for staff with the right to read the server's status.
struct ListRequestCounts: Endpoint {
    static let route = Route(
        .get, "/admin/requests", "listRequestCounts",
        "Requests at the gateways by interval (UTC), service and first digit of the status.",
        callers: .staff(.read, .status),
        parameters: [
            .query("from", .time, "Without: an hour, a day or 30 days before the end, by the interval."),
            .query("to", .time),
            .query("interval", .oneOf("minute", "hour", "day").defaulting(to: "hour")),
            .query("format", .oneOf("json", "csv").defaulting(to: "json")),
        ],
        details: "Needs `status` read.",
        answers: [
            .answer(
                200, "Done.",
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

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.staff(may: .read, .status)
        let format: AnswerTable.Format = try request.format()
        let interval = try request.choice("interval", of: Interval.allCases, default: .hour)
        let to = try request.time("to") ?? Date()
        let from =
            try request.time("from")
            ?? to.addingTimeInterval(interval == .minute ? -3_600 : interval == .hour ? -86_400 : -30 * 86_400)
        guard from < to, to.timeIntervalSince(from) <= Double(Self.maximumIntervals * interval.minutes * 60) else {
            throw HTTPProblem(
                .invalidParameter, "It must be before the end, by at most \(Self.maximumIntervals) intervals.",
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
