import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Counts events by interval and by the value of a dimension or property. Values beyond `limit` are summed up in one
/// row, `other`.
struct CountEvents: Endpoint {
    static let route = Route(
        .get, "/analytics/counts", "countEvents",
        "Counts events, and optionally the people behind them, by interval and value.",
        callers: .manager(.read, .analytics),
        parameters: [
            .firstDay,
            .lastDay,
            .timeZone,
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "day")),
            .query("event", .string, "Counts only events with this name."),
            .query(
                "group",
                .oneOf("event", "screen", "release", "os", "device", "country", "configuration", "variants", "property")
            ),
            .query("property", .string, "`group=property` only: the name of the property, or a path with dots."),
            .query("people", .boolean.defaulting(to: false), "Whether to count people as well."),
            .query("limit", .integer.range(1, 100).defaulting(to: 10)),
            .query("release", .string, "Counts only events of this release, such as `1.2.3+45`."),
            .query("os", .string, "Counts only events on this operating system, such as `iOS 17.2`."),
            .query("device", .string, "Counts only events on this device model, such as `Apple iPhone15,2`."),
            .query("country", .string, "Counts only events from this country (ISO 3166-1, two letters)."),
            .query("configuration", .string, "Counts only events with this version of the configuration."),
            .query("variants", .string, "Counts only events with these variants, such as `checkout=dark, size=b`."),
            .query("where", .string, "Counts only events with this property and value, such as `plan=pro`."),
            .tableFormat,
        ],
        answers: [
            .answer(
                200, "A row for each interval and value; values beyond `limit` are summed up in a row with `other`.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "timeZone": .string,
                            "asOf": .time.nullable,
                            "source": .oneOf("rolled", "events"),
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "interval": .string,
                                        "value": .string.nullable,
                                        "other": .boolean,
                                        "events": .integer,
                                        "people": .integer.nullable,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ],
        errors: [422: "The query did not finish in time (`question-too-large`)."])
    static let countScreens = Route(
        .get, "/analytics/screens", "countScreens",
        "Counts the events and persons of the most viewed screens and pages.",
        callers: .manager(.read, .analytics),
        parameters: [
            .firstDay,
            .lastDay,
            .timeZone,
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "none")),
            .query("event", .string, "Counts only events with this name."),
            .query("limit", .integer.range(1, 100).defaulting(to: 10)),
            .query("release", .string, "Counts only events of this release, such as `1.2.3+45`."),
            .query("os", .string, "Counts only events on this operating system, such as `iOS 17.2`."),
            .query("device", .string, "Counts only events on this device model, such as `Apple iPhone15,2`."),
            .query("country", .string, "Counts only events from this country (ISO 3166-1, two letters)."),
            .query("configuration", .string, "Counts only events with this version of the configuration."),
            .query("variants", .string, "Counts only events with these variants, such as `checkout=dark, size=b`."),
            .query("where", .string, "Counts only events with this property and value, such as `plan=pro`."),
            .tableFormat,
        ],
        answers: [
            .answer(
                200, "A row for each interval and value; values beyond `limit` are summed up in a row with `other`.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "timeZone": .string,
                            "asOf": .time.nullable,
                            "source": .oneOf("rolled", "events"),
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "interval": .string,
                                        "value": .string.nullable,
                                        "other": .boolean,
                                        "events": .integer,
                                        "people": .integer.nullable,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ],
        errors: [422: "The query did not finish in time (`question-too-large`)."])

    /// The dimension to group by; nil if the query names it.
    var group: Dimension?
    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let question = try self.question(request)
        let intervals = try request.spanRequest(intervals: Span.Interval.allCases, default: group == nil ? .day : .none)
        let span = try await store.span(intervals, in: space)
        let source = question.source(span)
        var table = AnswerTable(
            head: span.head + [.init("source", .string(source == .events ? "events" : "rolled"))],
            columns: ["interval", "value", "other", "events", "people"])
        table.rows = try await store.counts(question, in: span).map { row in
            [.text(span.labels[row.interval]), .of(row.value), .flag(row.isOther), .count(row.events), .of(row.people)]
        }
        return table.response(format)
    }

    private func question(_ request: Request) throws -> CountQuestion {
        var question = CountQuestion(event: try request.text("event"))
        question.group = try requestedGroup(request)
        question.withPeople = group == nil ? try request.flag("people") : true
        question.limit = try request.number("limit", default: 10, in: 1...CountQuestion.maximumGroups)
        for name in CountQuestion.filterNames {
            if let value = try request.text(name), let dimension = Dimension(group: String(name)) {
                question.filters.append(CountQuestion.Filter(group: .dimension(dimension), value: value))
            }
        }
        if let value = try request.text("variants") {
            question.filters.append(CountQuestion.Filter(group: .variants, value: value))
        }
        if let condition = try request.text("where") {
            guard let sign = condition.firstIndex(of: "=") else {
                throw ServiceError.unexpectedParameter(
                    "where", expected: "a property and its value, such as plan=pro", found: condition[...])
            }
            let path = try Self.path(String(condition[..<sign]), "where")
            question.filters.append(
                CountQuestion.Filter(group: .property(path), value: String(condition[condition.index(after: sign)...])))
        }
        return question
    }

    private func requestedGroup(_ request: Request) throws -> CountQuestion.Group {
        if let group { return .dimension(group) }
        let property = try request.text("property")
        let name = try request.text("group")
        guard (property != nil) == (name == "property") else {
            throw ServiceError(
                .invalidParameter, "The property is required with group=property, and not allowed otherwise.",
                field: "property")
        }
        switch name {
        case nil: return .none
        case "variants": return .variants
        case "property": return .property(try Self.path(property ?? "", "property"))
        case let name?:
            if let dimension = Dimension(group: name) { return .dimension(dimension) }
            let names = Dimension.groups.map(\.name) + ["variants", "property"]
            throw ServiceError.unexpectedParameter(
                "group", expected: "one of \(names.joined(separator: ", "))", found: name[...])
        }
    }

    private static func path(_ text: String, _ field: String) throws -> [String] {
        let path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.count <= CountQuestion.maximumDepth, path.allSatisfy({ !$0.isEmpty }) else {
            throw ServiceError(
                .invalidParameter,
                """
                Expected the name of a property, or a path of at most \(CountQuestion.maximumDepth) names \
                separated by dots.
                """,
                field: field)
        }
        return path
    }
}

extension CountQuestion {
    /// Parameters that restrict the events to one value of a dimension.
    static let filterNames: Set<Substring> = ["release", "os", "device", "country", "configuration"]
}
