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
        try require((1...32).contains(question.appID.utf8.count), "Expected an app's id.", "appID")
        try require(isName(question.experiment), "Expected 1 to 1,000 bytes without NUL characters.", "experiment")
        try require(
            (1...ExperimentQuestion.maximumVariations).contains(question.variations.count),
            "Expected 1 to 20 variations.", "variations")
        try require(
            question.variations.allSatisfy(isName), "Expected names of 1 to 1,000 bytes without NUL characters.",
            "variations")
        try require((0...4_000_000_000).contains(question.from), "Expected a time in seconds since 1970.", "from")
        try require(question.to > question.from, "Expected a time after from.", "to")
        try require(
            question.to - question.from <= Span.maximumDays * 86_400,
            "Expected a time at most 800 days after from.", "to")
        try require(
            question.metrics.count <= ExperimentQuestion.maximumMetrics, "Expected at most 20 metrics.", "metrics")
        for metric in question.metrics {
            try require(
                isName(metric.name) && isName(metric.event),
                "Expected names of 1 to 1,000 bytes without NUL characters.", "metrics")
            try require(
                metric.property.map(isName) ?? true, "Expected names of 1 to 1,000 bytes without NUL characters.",
                "metrics")
            try require(
                (metric.denominatorEvent != nil) == (metric.kind == .ratio),
                "Expected a denominatorEvent for ratios, and for no other metrics.", "metrics")
            try require(
                metric.covariateDays.map {
                    (1...ExperimentQuestion.maximumCovariateDays).contains($0) && metric.kind != .ratio
                } ?? true,
                "Expected covariateDays from 1 to 90, and none for ratios.", "metrics")
        }
    }
}
