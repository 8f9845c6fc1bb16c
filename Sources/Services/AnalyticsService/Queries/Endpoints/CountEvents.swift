import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /analytics/counts?from=&to=&interval=&timeZone=&event=&group=&property=&people=&limit=&format=`: how many
/// events, and with `people=true` how many persons had them, by interval and by what they have in `group`. The values
/// beyond `limit` are one line, `other`.
///
/// Others may be asked for with `release`, `os`, `device`, `country`, `configuration`, `variants` or `where`
/// (`plan=pro`): only events with them count.
struct CountEvents: Endpoint {
    static let route = Route(
        .get, "/analytics/counts", "countEvents",
        "How many events, and how many persons had them, by interval and value.", callers: .manager(.read, .analytics),
        parameters: [
            .query("from", .day, "The first day; without: 29 days before the last."),
            .query("to", .day, "The last day; without: today."),
            .query("timeZone", .string, "As the IANA names it; without: the app's."),
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "day")),
            .query("event", .string, "Only events of this name."),
            .query(
                "group",
                .oneOf("event", "screen", "release", "os", "device", "country", "configuration", "variants", "property")
            ),
            .query("property", .string, "Of `group=property`: its name, or a path with points."),
            .query("people", .boolean.defaulting(to: false), "Whether persons are counted, too."),
            .query("limit", .integer.range(1, 100).defaulting(to: 10)),
            .query("release", .string, "Only events with it."),
            .query("os", .string, "Only events with it."),
            .query("device", .string, "Only events with it."),
            .query("country", .string, "Only events with it."),
            .query("configuration", .string, "Only events with it."),
            .query("variants", .string, "Only events with it."),
            .query("where", .string, "Only events with this property: `plan=pro`."),
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
        errors: [422: "It takes too long (`question-too-large`)."])
    static let countScreens = Route(
        .get, "/analytics/screens", "countScreens", "The screens and pages that were seen most.",
        callers: .manager(.read, .analytics),
        parameters: [
            .query("from", .day, "The first day; without: 29 days before the last."),
            .query("to", .day, "The last day; without: today."),
            .query("timeZone", .string, "As the IANA names it; without: the app's."),
            .query("interval", .oneOf("hour", "day", "week", "month", "none").defaulting(to: "none")),
            .query("event", .string, "Only events of this name."),
            .query("limit", .integer.range(1, 100).defaulting(to: 10)),
            .query("release", .string, "Only events with it."),
            .query("os", .string, "Only events with it."),
            .query("device", .string, "Only events with it."),
            .query("country", .string, "Only events with it."),
            .query("configuration", .string, "Only events with it."),
            .query("variants", .string, "Only events with it."),
            .query("where", .string, "Only events with this property: `plan=pro`."),
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
        errors: [422: "It takes too long (`question-too-large`)."])

    /// Nil: as the query has it.
    var group: Dimension?
    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.askedSpace(spaces)
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
        question.group = try asked(request)
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
                throw HTTPProblem(
                    .invalidParameter, "It must be a property and its value, such as plan=pro.", field: "where")
            }
            let path = try Self.path(String(condition[..<sign]), "where")
            question.filters.append(
                CountQuestion.Filter(group: .property(path), value: String(condition[condition.index(after: sign)...])))
        }
        return question
    }

    private func asked(_ request: Request) throws -> CountQuestion.Group {
        if let group { return .dimension(group) }
        let property = try request.text("property")
        let name = try request.text("group")
        guard (property != nil) == (name == "property") else {
            throw HTTPProblem(
                .invalidParameter, "Name the property of group=property here, and of nothing else.", field: "property")
        }
        switch name {
        case nil: return .none
        case "variants": return .variants
        case "property": return .property(try Self.path(property ?? "", "property"))
        case let name?:
            if let dimension = Dimension(group: name) { return .dimension(dimension) }
            let names = Dimension.groups.map(\.name) + ["variants", "property"]
            throw HTTPProblem(.invalidParameter, "It must be one of \(names.joined(separator: ", ")).", field: "group")
        }
    }

    private static func path(_ text: String, _ field: String) throws -> [String] {
        let path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.count <= CountQuestion.maximumDepth, path.allSatisfy({ !$0.isEmpty }) else {
            throw HTTPProblem(
                .invalidParameter,
                "It must be a property's name, or a path of at most \(CountQuestion.maximumDepth) with points.",
                field: field)
        }
        return path
    }
}

extension CountQuestion {
    /// Parameters that narrow to one value.
    static let filterNames: Set<Substring> = ["release", "os", "device", "country", "configuration"]
}
