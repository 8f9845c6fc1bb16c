import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct AskFunnel: Endpoint {
    static let route = Route(
        .post, "/analytics/funnel", "askFunnel", "Counts the persons who reached each step of a sequence of events.",
        callers: .manager(.read, .analytics),
        parameters: [
            .firstDay,
            .lastDay,
            .timeZone,
            .tableFormat,
        ],
        body: .json(
            .object(
                [
                    "steps": .array(of: .string).items(2, 10).keyword("uniqueItems", true),
                    "windowSeconds": .integer.range(60, 7_776_000).defaulting(to: 604800),
                ], required: ["steps"])),
        answers: [
            .answer(
                200, "The number of persons for each step, and their share of the first and of the previous step.",
                .json(
                    .object(
                        [
                            "from": .string,
                            "to": .string,
                            "interval": .string,
                            "timeZone": .string,
                            "asOf": .time.nullable,
                            "windowSeconds": .integer,
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "step": .integer,
                                        "event": .string,
                                        "people": .integer,
                                        "ofFirst": .number.nullable,
                                        "ofPrevious": .number.nullable,
                                    ])),
                        ], required: ["count", "data"])), .type("text/csv", .string))
        ],
        errors: [422: "The query did not finish in time (`question-too-large`)."])

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        let format = try request.format()
        let spanRequest = try request.spanRequest(intervals: [.none], default: .none)
        let question = try FunnelQuestion(try await BodyFields(request, ["steps", "windowSeconds"]))
        let span = try await store.span(spanRequest, in: space)
        let people = try await store.funnel(question, in: span)
        var table = AnswerTable(
            head: span.head + [.init("windowSeconds", .number(String(question.windowInSeconds)))],
            columns: ["step", "event", "people", "ofFirst", "ofPrevious"])
        for (step, event) in question.steps.enumerated() {
            table.rows.append([
                .count(step + 1), .text(event), .count(people[step]), Self.share(people[step], of: people[0]),
                Self.share(people[step], of: people[max(0, step - 1)]),
            ])
        }
        return table.response(format)
    }

    private static func share(_ part: Int, of whole: Int) -> AnswerTable.Cell {
        whole > 0 ? AnswerTable.Cell.real(Double(part) / Double(whole)) : AnswerTable.Cell.none
    }
}

extension FunnelQuestion {
    /// - Throws: `invalid-body`.
    init(_ fields: BodyFields) throws {
        let steps = try fields.strings("steps", upTo: Self.stepCount.upperBound) ?? []
        guard Self.stepCount.contains(steps.count),
            steps.allSatisfy({ (1...1_000).contains($0.utf8.count) && !$0.utf8.contains(0) })
        else {
            throw ServiceError(
                .invalidBody, "Expected 2 to 10 steps, each the name of an event, found \(steps.count).", field: "steps"
            )
        }
        guard Set(steps).count == steps.count else {
            throw ServiceError(.invalidBody, "Each event may be a step only once.", field: "steps")
        }
        let window = try fields.integer("windowSeconds", in: Self.windowInSeconds) ?? 7 * 86_400
        self.init(steps: steps, windowInSeconds: window)
    }
}
