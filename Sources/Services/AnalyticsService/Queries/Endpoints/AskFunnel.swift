import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /analytics/funnel?from=&to=&timeZone=&format=` with `{"steps":["Opened","Bought"],"windowSeconds":86400}`: how
/// many persons came as far as each step.
struct AskFunnel: Endpoint {
    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.askedSpace(spaces)
        try request.allowParameters(["from", "to", "timeZone", "format"])
        let format = try request.format()
        let spanRequest = try request.spanRequest(intervals: [.none], default: .none)
        let question = try Self.question(try await BodyFields(request, ["steps", "windowSeconds"]))
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

    private static func question(_ fields: BodyFields) throws -> FunnelQuestion {
        let steps = try fields.strings("steps", upTo: FunnelQuestion.stepCount.upperBound) ?? []
        guard FunnelQuestion.stepCount.contains(steps.count),
            steps.allSatisfy({ (1...1_000).contains($0.utf8.count) && !$0.utf8.contains(0) })
        else {
            throw HTTPProblem(.invalidBody, "A funnel has 2 to 10 steps, each the name of an event.", field: "steps")
        }
        guard Set(steps).count == steps.count else {
            throw HTTPProblem(.invalidBody, "No event is a step twice.", field: "steps")
        }
        let window = try fields.integer("windowSeconds", in: FunnelQuestion.windowInSeconds) ?? 7 * 86_400
        return FunnelQuestion(steps: steps, windowInSeconds: window)
    }
}
