import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /analytics/people?from=&to=&interval=&timeZone=&format=`: how many persons were active in each interval, and
/// how many of them for the first time ever.
struct CountPeople: Endpoint {
    static let route = Route(
        .get, "/analytics/people", "countPeople", "How many persons were active, and how many for the first time.",
        callers: .manager(.read, .analytics),
        parameters: [
            .query("from", .day, "The first day; without: 29 days before the last."),
            .query("to", .day, "The last day; without: today."),
            .query("timeZone", .string, "As the IANA names it; without: the app's."),
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "day")),
            .query("format", .oneOf("json", "csv").defaulting(to: "json")),
        ],
        answers: [
            .answer(
                200, "Done.",
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
        errors: [422: "It takes too long (`question-too-large`)."])

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.askedSpace(spaces)
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

/// `GET /analytics/sessions?from=&to=&interval=&timeZone=&format=`: how many sessions began in each interval, and how
/// long they were on average.
struct CountSessions: Endpoint {
    static let route = Route(
        .get, "/analytics/sessions", "countSessions", "How many sessions began, and how long they were.",
        callers: .manager(.read, .analytics),
        parameters: [
            .query("from", .day, "The first day; without: 29 days before the last."),
            .query("to", .day, "The last day; without: today."),
            .query("timeZone", .string, "As the IANA names it; without: the app's."),
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "day")),
            .query("format", .oneOf("json", "csv").defaulting(to: "json")),
        ],
        answers: [
            .answer(
                200, "Done.",
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
        let space = try await context.askedSpace(spaces)
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

/// `GET /analytics/retention?from=&to=&interval=day|week&format=`: of the persons who were there for the first time in
/// an interval, how many came back in each one behind it.
struct ReadRetention: Endpoint {
    static let route = Route(
        .get, "/analytics/retention", "readRetention",
        "Of those who were there for the first time in an interval, who came back.",
        callers: .manager(.read, .analytics),
        parameters: [
            .query("from", .day, "The first day; without: 29 days before the last."),
            .query("to", .day, "The last day; without: today."),
            .query("timeZone", .string, "As the IANA names it; without: the app's."),
            .query("interval", .oneOf("day", "week", "month").defaulting(to: "day")),
            .query("format", .oneOf("json", "csv").defaulting(to: "json")),
        ],
        answers: [
            .answer(
                200, "Done.",
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
        let space = try await context.askedSpace(spaces)
        let format = try request.format()
        let span = try await store.span(
            try request.spanRequest(intervals: [.day, .week, .month], default: .day), in: space)
        guard let zone = span.rolledTimeZone else {
            throw HTTPProblem(
                .unavailable, "The app's days are being made anew in its time zone. Ask again later.",
                headers: [.retryAfter: "60"])
        }
        guard span.hasRolledDays else {
            throw HTTPProblem(
                .invalidParameter, "Retention is told in the time zone of the app's settings: \(zone).",
                field: "timeZone")
        }
        guard span.labels.count <= Self.maximumIntervals else {
            throw HTTPProblem(
                .limitExceeded, "There are at most \(Self.maximumIntervals) intervals.", field: "interval")
        }
        let returned = try await store.retention(in: span)
        var sizes = [Int](repeating: 0, count: span.labels.count)
        for row in returned where row.period == 0 { sizes[row.cohort] = row.people }
        var table = AnswerTable(head: span.head, columns: ["cohort", "size", "period", "people"])
        for cohort in span.labels.indices where sizes[cohort] > 0 {
            let found = Dictionary(
                returned.filter { $0.cohort == cohort }.map { ($0.period, $0.people) },
                uniquingKeysWith: { first, _ in first })
            for period in 0..<(span.labels.count - cohort) {
                table.rows.append([
                    .text(span.labels[cohort]), .count(sizes[cohort]), .count(period), .count(found[period] ?? 0),
                ])
            }
        }
        return table.response(format)
    }
}
