import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct CountPeople: Endpoint {
    static let route = Route(
        .get, "/analytics/people", "countPeople",
        "Counts the persons who were active in each interval, and those active for the first time.",
        callers: .manager(.read, .analytics),
        parameters: [
            .firstDay,
            .lastDay,
            .timeZone,
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "day")),
            .tableFormat,
        ],
        answers: [
            .answer(
                200, "The active and new persons of each interval, and of the whole span.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "timeZone": .string,
                            "asOf": .time.nullable,
                            "total": .object(
                                [
                                    "active": .integer,
                                    "new": .integer,
                                ]),
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "interval": .string,
                                        "active": .integer,
                                        "new": .integer,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ],
        errors: [422: "The query did not finish in time (`question-too-large`)."])

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let span = try await store.span(
            try request.spanRequest(intervals: Span.Interval.allCases, default: .day), in: space)
        let presence = try await store.presence(in: span)
        let total = JSONValue.object([
            .init("active", .number(String(presence.total.active))), .init("new", .number(String(presence.total.new))),
        ])
        var table = AnswerTable(head: span.head + [.init("total", total)], columns: ["interval", "active", "new"])
        table.rows = zip(span.labels, presence.intervals).map { [.text($0), .count($1.active), .count($1.new)] }
        return table.response(format)
    }
}

struct CountSessions: Endpoint {
    static let route = Route(
        .get, "/analytics/sessions", "countSessions",
        "Counts the sessions that began in each interval, with their average length.",
        callers: .manager(.read, .analytics),
        parameters: [
            .firstDay,
            .lastDay,
            .timeZone,
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "day")),
            .tableFormat,
        ],
        answers: [
            .answer(
                200, "The number and average length of the sessions that began in each interval.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "timeZone": .string,
                            "asOf": .time.nullable,
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "interval": .string,
                                        "sessions": .integer,
                                        "averageSeconds": .number.nullable,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ])

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let span = try await store.span(
            try request.spanRequest(intervals: Span.Interval.allCases, default: .day), in: space)
        var table = AnswerTable(head: span.head, columns: ["interval", "sessions", "averageSeconds"])
        table.rows = zip(span.labels, try await store.sessions(in: span)).map { label, sessions in
            [.text(label), .count(sessions.sessions), .of(sessions.averageSeconds)]
        }
        return table.response(format)
    }
}

/// Groups persons by the interval of their first activity, and counts those of each group who were active in each later
/// interval.
struct ReadRetention: Endpoint {
    static let route = Route(
        .get, "/analytics/retention", "readRetention",
        "Counts how many of an interval's new persons came back in later intervals.",
        callers: .manager(.read, .analytics),
        parameters: [
            .firstDay,
            .lastDay,
            .timeZone,
            .query("interval", .oneOf("day", "week", "month").defaulting(to: "day")),
            .tableFormat,
        ],
        answers: [
            .answer(
                200, "For each cohort, the persons who were active in each interval since.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "timeZone": .string,
                            "asOf": .time.nullable,
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "cohort": .string,
                                        "size": .integer,
                                        "period": .integer,
                                        "people": .integer,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ])

    static let maximumIntervals = 90

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let span = try await store.span(
            try request.spanRequest(intervals: [.day, .week, .month], default: .day), in: space)
        guard let zone = span.rolledTimeZone else {
            throw ServiceError(
                .unavailable, "The app's days are being rebuilt in its time zone. Try again later.",
                retryAfter: 60)
        }
        guard span.hasRolledDays else {
            throw ServiceError(
                .invalidParameter, "Retention is available only in the time zone of the app's settings: \(zone).",
                field: "timeZone")
        }
        guard span.labels.count <= Self.maximumIntervals else {
            throw ServiceError(
                .limitExceeded, "Retention may have at most \(Self.maximumIntervals) intervals.", field: "interval")
        }
        let rows = try await store.retention(in: span)
        var sizes = [Int](repeating: 0, count: span.labels.count)
        for row in rows where row.period == 0 { sizes[row.cohort] = row.people }
        var table = AnswerTable(head: span.head, columns: ["cohort", "size", "period", "people"])
        for cohort in span.labels.indices where sizes[cohort] > 0 {
            let people = Dictionary(
                rows.filter { $0.cohort == cohort }.map { ($0.period, $0.people) },
                uniquingKeysWith: { first, _ in first })
            for period in 0..<(span.labels.count - cohort) {
                table.rows.append([
                    .text(span.labels[cohort]), .count(sizes[cohort]), .count(period), .count(people[period] ?? 0),
                ])
            }
        }
        return table.response(format)
    }
}
