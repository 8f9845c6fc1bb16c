import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Synchronization
import Testing

@testable import ConfigService

/// More metrics than analytics can answer at once.
@Suite struct ConversionPiecesTests {
    private static let names = (10..<22).map { "m\($0)" }

    /// An analytics service that is too slow for the events of some metrics.
    private final class Analytics: Sendable {
        struct State {
            var questions: [[String]] = []
            var slow: Set<String> = []
            var wrong: Set<String> = []
            /// Whether a question about more than one metric is too slow.
            var isGroupTooSlow = false
        }
        let state = Mutex(State())

        var questions: [[String]] { state.withLock { $0.questions } }

        func sums(_ question: ExperimentQuestion) throws -> ExperimentSums {
            try state.withLock { state in
                let names = question.metrics.map(\.name)
                state.questions.append(names)
                if !state.slow.isDisjoint(with: names) || (state.isGroupTooSlow && names.count > 1) {
                    throw OutgoingFailure.timeout
                }
                let metrics = names.map { name in
                    (
                        name,
                        [
                            "control": ExperimentSums.Sums(units: 1, sum: state.wrong.contains(name) ? 7 : 1),
                            "dark": .init(units: 1, sum: 0),
                        ]
                    )
                }
                return ExperimentSums(
                    units: ["control": 1, "dark": 1], multipleExposures: 0, metrics: Dictionary(metrics) { $1 })
            }
        }
    }

    private static func run(_ limits: Conversions.Limits, _ body: @Sendable (ConfigApp, Analytics) async throws -> Void)
        async throws
    {
        let analytics = Analytics()
        let metrics = names.map { #"{"name":"\#($0)","event":"\#($0)"}"# }.joined(separator: ",")
        let experiment = #"""
            {"title":"T","state":"draft","unit":"device","variations":[{"key":"control"},{"key":"dark","flags":{"title":"dark"}}],"metrics":[\#(metrics)]}
            """#
        try await ConfigApp.run(conversions: Conversions(limits: limits) { try analytics.sums($0) }) { app in
            try await app.publish(.flags, "default", #"{"flags":{"title":{"type":"string","default":"live"}}}"#)
            try #require(
                try await app.master("PUT", "/config/experiment/checkout", experiment, headers: ["if-none-match": "*"])
                    .status == 201)
            try #require(try await app.master("POST", "/config/experiment/checkout/start").status == 200)
            _ = try await app.client("POST", "/flags/evaluate", "{}", headers: ["x-device-id": "d1"])
            await app.service.experiments.log.flush()
            try await body(app, analytics)
        }
    }

    /// Limits under which every answer stays fresh and every failure stays paused, however slow the machine is.
    private static var limits: Conversions.Limits {
        var limits = Conversions.Limits()
        (limits.validity, limits.pause, limits.lastCall, limits.call) = (
            3_600, .seconds(3_600), .seconds(3_600), .seconds(3_600)
        )
        return limits
    }

    private static func results(_ app: ConfigApp) async throws -> Answer {
        let answer = try await app.master("GET", "/config/experiment/checkout/results")
        try #require(answer.status == 200, "\(answer)")
        return answer
    }

    private static func names(in state: String, _ answer: Answer) -> [String] {
        names.filter { answer["conversions.metrics.\($0).state"] == JSONValue.quote(state) }
    }

    @Test func `A few metrics are queried at a time, and a repeated request continues with the others`() async throws {
        var limits = Self.limits
        // One call for each request.
        limits.lastCall = .zero
        try await Self.run(limits) { app, analytics in
            for number in 1...4 {
                let answer = try await Self.results(app)
                #expect(Self.names(in: "current", answer) == Array(Self.names.prefix(3 * number)), "\(answer)")
                #expect(Self.names(in: "pending", answer) == Array(Self.names.dropFirst(3 * number)))
                #expect(
                    answer["conversions.problem"] == "null"
                        && answer["conversions.complete"] == (number == 4 ? "true" : "false"))
                #expect(
                    answer["metrics.\(3 * number - 1).name"] != nil && answer["metrics.\(3 * number)"] == nil,
                    "metrics with sums are shown")
                #expect(answer["conversions.seen"] == #"{"control":1,"dark":1}"#)
            }
            #expect(analytics.questions.flatMap(\.self) == Self.names, "no metric is queried twice")
            _ = try await Self.results(app)
            #expect(analytics.questions.count == 4)
        }
    }

    @Test func `A slow metric is queried alone, is reported as such, and does not hold up the others`() async throws {
        try await Self.run(Self.limits) { app, analytics in
            analytics.state.withLock { $0.slow = ["m12", "m20"] }
            for _ in 0..<2 {
                let answer = try await Self.results(app)
                #expect(
                    Self.names(in: "failed", answer) == ["m12", "m20"] && Self.names(in: "pending", answer) == [],
                    "\(answer)")
                #expect(answer["conversions.metrics.m12"] == #"{"state":"failed","asOf":null,"problem":"too-large"}"#)
                #expect(
                    answer["conversions.problem"] == #""too-large""# && answer["metrics.9.name"] != nil
                        && answer["metrics.10"] == nil)
            }
            // Four groups, and two of their metrics alone; the second request adds nothing.
            #expect(analytics.questions.map(\.count) == [3, 3, 3, 3, 1, 1, 1, 1, 1, 1])
        }
    }

    @Test func `A metric that was too slow in a group is queried alone the next time`() async throws {
        var limits = Self.limits
        limits.validity = -3_600
        try await Self.run(limits) { app, analytics in
            analytics.state.withLock { $0.isGroupTooSlow = true }
            _ = try await Self.results(app)
            #expect(analytics.questions.map(\.count) == Array(repeating: 3, count: 4) + Array(repeating: 1, count: 12))
            _ = try await Self.results(app)
            #expect(analytics.questions.dropFirst(16).map(\.count) == Array(repeating: 1, count: 12))
        }
    }

    @Test func `Impossible sums affect only their own metric`() async throws {
        try await Self.run(Self.limits) { app, analytics in
            analytics.state.withLock { $0.wrong = ["m13"] }
            let answer = try await Self.results(app)
            #expect(
                Self.names(in: "failed", answer) == ["m13"] && Self.names(in: "current", answer).count == 11,
                "\(answer)")
            #expect(answer["conversions.metrics.m13.problem"] == #""unusable""#)
        }
    }

    @Test func `A metric with a changed question shows no earlier answers`() async throws {
        try await Self.run(Self.limits) { app, analytics in
            #expect(try await Self.results(app)["metrics.11.name"] != nil)
            analytics.state.withLock { $0.slow = ["m10"] }
            let draft = try await app.master("GET", "/config/experiment/checkout")
            let changed = draft.text.replacing(#""event":"m10""#, with: #""event":"other""#)
            try #require(changed != draft.text)
            try #require(try await app.publish(.experiment, "checkout", changed).status == 200)
            let answer = try await Self.results(app)
            #expect(answer["metrics.0.name"] == #""m11""# && answer["series.m10.0"] == nil, "\(answer)")
            #expect(Self.names(in: "failed", answer) == ["m10"] && answer["conversions.metrics.m10.asOf"] == "null")
        }
    }

    @Test func `An unresponsive analytics service is waited for as long as a call may take`() async throws {
        var limits = Self.limits
        (limits.call, limits.lastCall) = (.milliseconds(20), .zero)
        let calls = Mutex(0)
        let conversions = Conversions(limits: limits) { _ in
            calls.withLock { $0 += 1 }
            try await Task.sleep(for: .seconds(86_400))
            throw ConfigApp.Away()
        }
        let question = ExperimentQuestion(
            appID: "app1", environment: .live, experiment: "e", variations: ["a", "b"], from: 0, to: 1, metrics: [])
        let subject = Conversions.Subject(
            space: AppSpace(appID: "app1", environment: .live), experiment: "e", bucketVersion: 0)
        let outdated = [Conversions.OutdatedMetric(metric: .init(name: "m", kind: .proportion, event: "e"))]
        for _ in 0..<2 {
            #expect(try await conversions.sums(of: outdated, question, of: subject) { _, _ in nil } == ["m": .tooLarge])
        }
        #expect(calls.withLock { $0 } == 1, "the second time it is paused")
    }
}
