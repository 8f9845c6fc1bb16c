import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The sums of an experiment's metrics, for the service that evaluates experiments.
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
            guard condition else { throw ServiceError(.invalidBody, sentence, field: field) }
        }
        let isName = { (name: String) in (1...1_000).contains(name.utf8.count) && !name.utf8.contains(0) }
        try require((1...32).contains(question.appID.utf8.count), "This must be an app's id.", "appID")
        try require(isName(question.experiment), "This must have 1 to 1,000 bytes and no NUL characters.", "experiment")
        try require(
            (1...ExperimentQuestion.maximumVariations).contains(question.variations.count),
            "There must be 1 to 20 variations.", "variations")
        try require(
            question.variations.allSatisfy(isName), "Each name must have 1 to 1,000 bytes and no NUL characters.",
            "variations")
        try require((0...4_000_000_000).contains(question.from), "This must be a time in seconds since 1970.", "from")
        try require(question.to > question.from, "This must be after from.", "to")
        try require(
            question.to - question.from <= Span.maximumDays * 86_400, "The span may have at most 800 days.", "to")
        try require(
            question.metrics.count <= ExperimentQuestion.maximumMetrics, "There may be at most 20 metrics.", "metrics")
        for metric in question.metrics {
            try require(
                isName(metric.name) && isName(metric.event),
                "Each name must have 1 to 1,000 bytes and no NUL characters.", "metrics")
            try require(
                metric.property.map(isName) ?? true, "Each name must have 1 to 1,000 bytes and no NUL characters.",
                "metrics")
            try require(
                (metric.denominatorEvent != nil) == (metric.kind == .ratio),
                "A ratio must have a denominatorEvent, and other metrics must not.", "metrics")
            try require(
                metric.covariateDays.map {
                    (1...ExperimentQuestion.maximumCovariateDays).contains($0) && metric.kind != .ratio
                } ?? true,
                "A covariate must cover 1 to 90 days, and a ratio must not have one.", "metrics")
        }
    }
}
