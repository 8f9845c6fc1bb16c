import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Counts the events themselves, because roll-ups are some seconds behind.
struct ReadLive: Endpoint {
    static let route = Route(
        .get, "/analytics/live", "readLive", "Counts the events and persons of the last 30 minutes.",
        callers: .manager(.read, .analytics),
        parameters: [
            .tableFormat
        ],
        answers: [
            .answer(
                200, "The totals, the most frequent events and screens, and a row for each minute.",
                .json(
                    .object(
                        [
                            "minutes": .integer,
                            "events": .integer,
                            "people": .integer,
                            "topEvents": .array(of: .object),
                            "topScreens": .array(of: .object),
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "minute": .string,
                                        "events": .integer,
                                        "people": .integer,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ],
        errors: [422: "The query did not finish in time (`question-too-large`)."])

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let live = try await store.live(space)
        func named(_ list: [(name: String, events: Int)]) -> JSONValue {
            .array(
                list.map { .object([.init("name", .string($0.name)), .init("events", .number(String($0.events)))]) })
        }
        var table = AnswerTable(
            head: [
                .init("minutes", .number(String(QuestionStore.liveMinutes))),
                .init("events", .number(String(live.events))),
                .init("people", .number(String(live.people))), .init("topEvents", named(live.topEvents)),
                .init("topScreens", named(live.topScreens)),
            ], columns: ["minute", "events", "people"])
        table.rows = live.minutes.map { [.text($0.start.formatted(.iso8601)), .count($0.events), .count($0.people)] }
        return table.response(format)
    }
}

/// Lists events. As CSV, the cursor of the next page is in the header `X-Next-Cursor`.
struct ListEvents: Endpoint {
    static let route = Route(
        .get, "/analytics/events", "listEvents", "Lists the stored events in the order of receipt.",
        callers: .manager(.read, .analytics),
        parameters: [
            .query("from", .time, "The earliest time of receipt; by default a day before `to`."),
            .query("to", .time),
            .query("event"),
            .query("person", .string.pattern(#"^[0-9a-f]{16}$"#)),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("after", .string, "`next` from the previous page."),
            .tableFormat,
        ],
        answers: [
            .answer(
                200, "A page of events.",
                .json(
                    .object(
                        [
                            "next": .string,
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "id": .string,
                                        "received": .string,
                                        "at": .string,
                                        "type": .string,
                                        "name": .string.nullable,
                                        "person": .string.nullable,
                                        "release": .string.nullable,
                                        "os": .string.nullable,
                                        "device": .string.nullable,
                                        "configuration": .string.nullable,
                                        "variants": .string.nullable,
                                        "country": .string.nullable,
                                        "properties": .object,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ],
        errors: [422: "The query did not finish in time (`question-too-large`)."])

    private static let nextCursor = HTTPField.Name("X-Next-Cursor")
    /// For clocks that differ from the database's, which sets the time of receipt.
    private static let clockTolerance: TimeInterval = 60

    let spaces: Spaces
    let store: QuestionStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let question = try self.question(request)
        let events = try await store.events(question, in: space)
        let next = events.count == question.limit ? events.last?.cursor.text : nil
        switch format {
        case .json:
            let rows = events.map { event in
                let members = zip(QuestionStore.eventColumns, event.cells).map {
                    JSONValue.quote($0) + ":" + $1.json.text
                }
                return "{" + members.joined(separator: ",") + #","properties":"# + event.properties + "}"
            }
            return .page(rows, next: next)
        case .csv:
            var table = AnswerTable(head: [], columns: QuestionStore.eventColumns + ["properties"])
            table.rows = events.map { $0.cells + [.text($0.properties)] }
            var response = table.response(.csv)
            if let next, let name = Self.nextCursor { response.headers[name] = next }
            return response
        }
    }

    private func question(_ request: Request) throws -> EventPageQuestion {
        let to = try request.time("to") ?? now().addingTimeInterval(Self.clockTolerance)
        let from = try request.time("from") ?? to.addingTimeInterval(-86_400)
        guard from < to, to.timeIntervalSince(from) <= Double(Span.maximumDays) * 86_400 else {
            throw ServiceError(
                .invalidParameter, "Expected a time before to, at most \(Span.maximumDays) days earlier.",
                field: "from")
        }
        var question = EventPageQuestion(
            from: from, to: to, event: try request.text("event"),
            limit: try request.number("limit", default: 100, in: 1...EventPageQuestion.maximumLimit))
        if let text = try request.text("person") {
            guard text.count == 16, text.allSatisfy(\.isHexDigit), let digits = UInt64(text, radix: 16) else {
                throw ServiceError.unexpectedParameter("person", expected: "16 hexadecimal digits", found: text[...])
            }
            question.person = Int64(bitPattern: digits)
        }
        if let text = try request.text("after") {
            guard let cursor = EventCursor(text) else {
                throw ServiceError(.invalidParameter, "This cursor did not come from an earlier page.", field: "after")
            }
            question.after = cursor
        }
        return question
    }
}
