import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import ConfigService

/// Results without an answer from analytics, and the validation of metrics.
@Suite struct ConversionRefusalTests {
    private static let experiment = """
        {"title":"T","state":"draft","unit":"device","variations":[{"key":"control"},{"key":"dark","flags":{"title":"dark"}}],
         "metrics":[{"name":"bought","event":"buy"},{"name":"sent","kind":"proportion"}]}
        """

    /// An analytics service that may be unavailable.
    private final class Analytics: Sendable {
        struct State {
            var questions: [ExperimentQuestion] = []
            var failure: (any Error)?
        }
        let state = Mutex(State())

        func sums(_ question: ExperimentQuestion) throws -> ExperimentSums {
            try state.withLock { state in
                state.questions.append(question)
                if let failure = state.failure { throw failure }
                return ExperimentSums(
                    units: ["control": 0, "dark": 0], multipleExposures: 0,
                    metrics: Dictionary(
                        question.metrics.map {
                            ($0.name, ["control": .init(units: 0, sum: 0), "dark": .init(units: 0, sum: 0)])
                        }
                    ) { $1 })
            }
        }
    }

    private static func run(_ body: @Sendable (ConfigApp, Analytics) async throws -> Void) async throws {
        let analytics = Analytics()
        var limits = Conversions.Limits()
        limits.pause = .zero
        try await ConfigApp.run(conversions: Conversions(limits: limits) { try analytics.sums($0) }) { app in
            try await app.publish(.flags, "default", #"{"flags":{"title":{"type":"string","default":"live"}}}"#)
            try #require(
                try await app.master("PUT", "/config/experiment/checkout", experiment, headers: ["if-none-match": "*"])
                    .status == 201)
            try #require(try await app.master("POST", "/config/experiment/checkout/start").status == 200)
            try await body(app, analytics)
        }
    }

    private static func results(_ app: ConfigApp) async throws -> Answer {
        try await app.master("GET", "/config/experiment/checkout/results")
    }

    private static func expose(_ app: ConfigApp) async throws {
        _ = try await app.client("POST", "/flags/evaluate", "{}", headers: ["x-device-id": "d1"])
        await app.service.experiments.log.flush()
    }

    @Test(arguments: [
        (ConfigApp.Away() as any Error, "unavailable"),
        (ServiceCalls.Failure.status(422, service: "analytics"), "too-large"),
    ])
    func `While analytics does not respond, results say so and show the rest`(failure: any Error, problem: String)
        async throws
    {
        try await Self.run { app, analytics in
            analytics.state.withLock { $0.failure = failure }
            #expect(try await Self.results(app)["conversions"] == "null", "no unit was exposed")
            try await Self.expose(app)
            let sent = #"{"variations":{"control":{"units":10,"sum":5},"dark":{"units":10,"sum":6}}}"#
            try #require(
                try await app.master("PUT", "/config/experiment/checkout/metrics/sent/observations", sent).status == 204
            )
            let answer = try await Self.results(app)
            #expect(
                answer.status == 200 && answer["conversions.problem"] == "\"\(problem)\""
                    && answer["conversions.seen"] == "null", "\(answer)")
            #expect(
                answer["metrics.0.name"] == #""sent""# && answer["metrics.1"] == nil && answer["guardRails.3"] == nil,
                "\(answer)")
            #expect(answer["conversions.complete"] == "false", "\(answer)")
            #expect(
                answer["conversions.metrics"] == #"{"bought":{"state":"failed","asOf":null,"problem":"\#(problem)"}}"#,
                "\(answer)")
            // An answer stays readable once it has arrived.
            analytics.state.withLock { $0.failure = nil }
            #expect(try await Self.results(app)["metrics.0.name"] == #""bought""#)
        }
    }

    @Test func `The same question is not repeated while its answer is valid, and never after the final answer`()
        async throws
    {
        try await Self.run { app, analytics in
            try await Self.expose(app)
            for _ in 0..<3 { #expect(try await Self.results(app)["conversions.problem"] == "null") }
            #expect(analytics.state.withLock { $0.questions.count } == 1)
            let question = try #require(analytics.state.withLock { $0.questions.first })
            let now = Int(Date().timeIntervalSince1970)
            #expect(
                question.experiment == "checkout" && question.variations == ["control", "dark"]
                    && (now - 60...now).contains(question.from))
            #expect(
                question.metrics == [.init(name: "bought", kind: .proportion, event: "buy")]
                    && question.to > question.from && question.to <= now + 1)

            var document = ExperimentKind.read(try JSONValue(parsing: Self.experiment.utf8)).0
            let end = Date(timeIntervalSince1970: 1_777_600_000)
            (document.state, document.stoppedAt) = (.stopped, end)
            let over = MeasuredExperiment(
                experiment: document, id: "checkout", exposures: .init(since: end.addingTimeInterval(-3_600)))
            #expect(over.question(named: "checkout", in: app.space, at: Date())?.to == 1_777_600_001)
            #expect(
                !over.isComplete(at: end.addingTimeInterval(3_600))
                    && over.isComplete(at: end.addingTimeInterval(86_401)))
            document.state = .running
            #expect(
                !MeasuredExperiment(experiment: document, id: "checkout", exposures: .init()).isComplete(
                    at: .distantFuture))
        }
    }

    @Test func `Sums for a metric that names an event are refused`() async throws {
        try await Self.run { app, _ async throws in
            let sums = #"{"variations":{"control":{"units":10,"sum":5},"dark":{"units":10,"sum":6}}}"#
            #expect(
                try await app.master("PUT", "/config/experiment/checkout/metrics/bought/observations", sums).isProblem(
                    .conflict))
            #expect(try await app.postgres.query("SELECT FROM config.observations").isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"name":"m","property":"p"}"#, "/metrics/0/event"),
        (#"{"name":"m","event":"e","property":"p"}"#, "/metrics/0/property"),
        (#"{"name":"m","kind":"ratio","event":"e"}"#, "/metrics/0/denominatorEvent"),
        (#"{"name":"m","kind":"mean","event":"e","denominatorEvent":"d"}"#, "/metrics/0/denominatorEvent"),
        (#"{"name":"m","event":""}"#, "/metrics/0/event"), (#"{"name":"m","event":1}"#, "/metrics/0/event"),
        (#"{"name":"m","event":"e","covariateDays":3}"#, "/metrics/0/covariateDays"),
        (#"{"name":"m","event":"e","covariate":true,"covariateDays":91}"#, "/metrics/0/covariateDays"),
        (#"{"name":"m","covariate":true,"covariateDays":7}"#, "/metrics/0/covariateDays"),
    ])
    func `A contradiction in a metric's source is an error that names its path`(metric: String, path: String) throws {
        let (_, findings) = ExperimentKind.read(try TestExperiment.json(#"{"metrics":[\#(metric)]}"#))
        #expect(findings.contains { $0.severity == .error && $0.path == path }, "\(findings)")
    }
}
