import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /internal/analytics/experiments` with an `ExperimentQuestion`: an `ExperimentSums`. For processes of ours.
struct SumExperiment: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/analytics/experiments")

    let spaces: Spaces
    let store: QuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let question = try await request.decoded(ExperimentQuestion.self)
        try Self.check(question)
        let space = try await spaces.space(of: question.appID, question.environment)
        return try .encoding(try await store.sums(question, in: space))
    }

    private static func check(_ question: ExperimentQuestion) throws {
        func require(_ condition: Bool, _ sentence: String, _ field: String) throws {
            guard condition else { throw HTTPProblem(.invalidBody, sentence, field: field) }
        }
        let isName = { (name: String) in (1...1_000).contains(name.utf8.count) && !name.utf8.contains(0) }
        try require((1...32).contains(question.appID.utf8.count), "This is no app's id.", "appID")
        try require(isName(question.experiment), "This is no name.", "experiment")
        try require(
            (1...ExperimentQuestion.maximumVariations).contains(question.variations.count),
            "There are 1 to 20 variations.", "variations")
        try require(question.variations.allSatisfy(isName), "A name is empty or too long.", "variations")
        try require((0...4_000_000_000).contains(question.from), "This is no time.", "from")
        try require(question.to > question.from, "This must be after from.", "to")
        try require(question.to - question.from <= Span.maximumDays * 86_400, "There are at most 800 days.", "to")
        try require(
            question.metrics.count <= ExperimentQuestion.maximumMetrics, "There are at most 20 metrics.", "metrics")
        for metric in question.metrics {
            try require(isName(metric.name) && isName(metric.event), "A name is empty or too long.", "metrics")
            try require(metric.property.map(isName) ?? true, "A name is empty or too long.", "metrics")
            try require(
                (metric.denominatorEvent != nil) == (metric.kind == .ratio),
                "A ratio, and nothing else, has a denominatorEvent.", "metrics")
            try require(
                metric.covariateDays.map {
                    (1...ExperimentQuestion.maximumCovariateDays).contains($0) && metric.kind != .ratio
                } ?? true,
                "A covariate is of 1 to 90 days, and no ratio has one.", "metrics")
        }
    }
}
