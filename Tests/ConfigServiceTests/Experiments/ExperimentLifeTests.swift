import Foundation
import MartletAPI
import MartletCore
import MartletFlags
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import ConfigService

/// Experiments over HTTP, with their transitions.
@Suite struct ExperimentLifeTests {
    private static let path = "/config/experiment/checkout"

    /// Publishes the configurations 1.2.0 and 1.2.0~Dark, and a draft of the experiment.
    private static func run(_ changes: String = "{}", _ body: @Sendable (ConfigApp) async throws -> Void) async throws {
        let draft = try TestExperiment.json(changes).text
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            for (name, text) in [("1.2.0", "light"), ("1.2.0~Dark", #"dark","theme":"Dark"#)] {
                try #require(try await app.publish(.configuration, name, #"{"text":"\#(text)"}"#).status == 200)
            }
            let stored = try await app.master("PUT", path, draft, headers: ["if-none-match": "*"])
            try #require(stored.status == 201 && stored["findings"] == "[]", "\(stored)")
            try await body(app)
        }
    }

    private static func experiment(_ app: ConfigApp) async throws -> ExperimentDocument? {
        (try await app.service.live.current(app.space)[DocumentKey(.experiment, "checkout")]?.compiled
            as? CompiledExperiment)?.document
    }

    @Test func `An experiment is started, stopped, restarted and decided`() async throws {
        try await Self.run { app in
            let start = Self.path + "/start"
            let outdated = try await app.master("POST", start, headers: ["if-match": #""2""#])
            #expect(outdated.isProblem(.preconditionFailed), "\(outdated)")
            let started = try await app.master("POST", start, #"{"note":"Go"}"#, headers: ["if-match": #""1""#])
            #expect(started.status == 200 && started["version"] == "1" && started["note"] == #""Go""#, "\(started)")
            let running = try #require(try await Self.experiment(app))
            #expect(running.state == .running && running.start != nil)
            // The variation's version and the live version are in memory.
            let space = try await app.service.live.current(app.space)
            #expect(space.version(1, of: DocumentKey(.configuration, "1.2.0~Dark")) != nil)
            #expect(space.assignments(for: TestExperiment.device(1), [:], at: .distantFuture).count == 1)

            let stopped = try await app.master("POST", Self.path + "/stop")
            #expect(stopped.status == 200 && stopped["version"] == "2", "\(stopped)")
            #expect(try await Self.experiment(app)?.state == .stopped)
            // Starting again with other weights would move units.
            let weights = #"{"coverage":0.5}"#
            try #require(try await app.master("PATCH", Self.path, weights, headers: ["if-match": "*"]).status == 200)
            #expect(try await app.master("POST", Self.path + "/start").isProblem(.documentRefused))
            try #require(
                try await app.master("PATCH", Self.path, #"{"coverage":1}"#, headers: ["if-match": "*"]).status == 200)
            #expect(try await app.master("POST", Self.path + "/start")["version"] == "3")

            let decided = try await app.master("POST", Self.path + "/decide", #"{"variation":"dark","note":"Better"}"#)
            #expect(
                decided.status == 200 && decided["version"] == "4" && decided["configuration.name"] == #""1.2.0""#,
                "\(decided)")
            #expect(
                decided["configuration.version"] == "2" && decided["configuration.sourceVersion"] == "1", "\(decided)")
            let after = try await app.service.live.current(app.space)
            #expect(
                after[DocumentKey(.configuration, "1.2.0")].map { String(buffer: $0.content) } == #"{"text":"dark"}"#)
            #expect(after.assignments(for: TestExperiment.device(1), [:], at: .distantFuture).isEmpty)
            // The configuration's draft had no changes of its own, so it gets the published content.
            #expect(try await app.master("GET", "/config/configuration/1.2.0").text == #"{"text":"dark"}"#)
            let draft = try await app.master("GET", Self.path)
            #expect(
                draft["state"] == #""decided""# && draft["decision.variation"] == #""dark""#
                    && draft["stoppedAt"] == nil, "\(draft)")
        }
    }

    @Test func `A decision for the control, which has no version of its own, publishes no configuration`() async throws
    {
        try await Self.run { app in
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            let decided = try await app.master("POST", Self.path + "/decide", #"{"variation":"control"}"#)
            #expect(decided.status == 200 && decided["configuration"] == nil, "\(decided)")
            #expect(try await app.service.live.current(app.space)[DocumentKey(.configuration, "1.2.0")]?.version == 1)
        }
    }

    @Test(
        arguments: [
            ([], "stop", "{}", ErrorCode.conflict), ([], "decide", #"{"variation":"dark"}"#, .conflict),
            (["start"], "start", "{}", .conflict),
            (["start", "stop"], "stop", "{}", .conflict), (["start"], "decide", #"{"variation":"blue"}"#, .invalidBody),
            (["start"], "decide", "{}", .invalidBody),
            ([], "start", #"{"at":"now"}"#, .invalidBody),
        ] as [([String], String, String, ErrorCode)])
    func `Other transitions are refused, and nothing changes`(
        before: [String], call: String, body: String, code: ErrorCode
    ) async throws {
        try await Self.run { app in
            for call in before { try #require(try await app.master("POST", Self.path + "/" + call).status == 200) }
            let state = try await Self.contents(app)
            let refused = try await app.master("POST", Self.path + "/" + call, body)
            #expect(refused.isProblem(code), "\(refused)")
            #expect(try await Self.contents(app) == state)
        }
    }

    @Test func `A decision is final`() async throws {
        try await Self.run { app in
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            try #require(try await app.master("POST", Self.path + "/decide", #"{"variation":"dark"}"#).status == 200)
            for call in ["start", "stop"] {
                #expect(try await app.master("POST", Self.path + "/" + call).isProblem(.conflict))
            }
            #expect(
                try await app.master("POST", Self.path + "/decide", #"{"variation":"control"}"#).isProblem(.conflict))
        }
    }

    @Test
    func `An experiment created again under its name starts with no units, and those of the deleted one are removed`()
        async throws
    {
        try await Self.run { app in
            let experiments = app.service.experiments
            func expose(_ devices: Range<Int>) async throws -> LiveSpace {
                let space = try await app.service.live.current(app.space)
                for number in devices {
                    #expect(
                        await experiments.configuration("1.2.0", for: TestExperiment.device(number), [:], in: space)
                            != nil)
                }
                await experiments.log.flush()
                return space
            }
            func units() async throws -> [Int] {
                let answer = try await app.master("GET", Self.path + "/results")
                return ["control", "dark"].map { answer["units." + $0].flatMap { Int($0) } ?? -1 }
            }
            func rows() async throws -> Int {
                try await app.postgres.query("SELECT count(*) FROM config.exposures")[0].decode(0)
            }
            let draft = try TestExperiment.json().text

            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            let before = try await expose(0..<50)
            let observed = #"{"variations":{"control":{"units":4000,"sum":200},"dark":{"units":4100,"sum":246}}}"#
            try #require(
                try await app.master("PUT", Self.path + "/metrics/purchase/observations", observed).status == 204)
            #expect(try await units().reduce(0, +) == 50)
            #expect(try await app.master("DELETE", Self.path, headers: ["if-match": "*"]).status == 204)
            #expect(try await app.master("GET", Self.path + "/results").isProblem(.documentNotFound))

            try #require(try await app.master("PUT", Self.path, draft, headers: ["if-none-match": "*"]).status == 201)
            #expect(try await units() == [0, 0])
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            let results = try await app.master("GET", Self.path + "/results")
            #expect(results["asOf"] == "null" && results["series.purchase"] == "[]", "\(results)")
            _ = try await expose(40..<60)
            #expect(try await units().reduce(0, +) == 20, "units of the deleted experiment take part again")

            // An instance that has not noticed continues with the deleted experiment.
            for number in 100..<110 {
                _ = await experiments.configuration("1.2.0", for: TestExperiment.device(number), [:], in: before)
            }
            await experiments.log.flush()
            await experiments.log.clean()
            #expect(try await units().reduce(0, +) == 20)
            #expect(try await rows() == 20)
            let portion = try await experiments.exposures.history(
                of: TestExperiment.device(45), experiments: ["checkout", "checkout~2"], in: app.space)
            #expect(portion.keys.sorted() == ["checkout~2"])
        }
    }

    @Test
    func
        `A running experiment is imported as a draft, and an import does not change the state of an existing one`()
        async throws
    {
        try await Self.run { app in
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            let exported = try await app.master("GET", "/config/export").text
            var other = app
            other.appID = "app2"
            let imported = try await other.master("POST", "/config/import?publish=true", exported)
            #expect(imported.status == 200 && imported["published.2.kind"] == #""experiment""#, "\(imported)")
            #expect(try await other.master("GET", Self.path)["state"] == #""draft""#)
            #expect(try await Self.experiment(other)?.state == .draft)
            try #require(try await other.master("POST", Self.path + "/start").status == 200)
            let again = try await other.master("POST", "/config/import?publish=true&replace=true", exported)
            #expect(again.status == 200, "\(again)")
            #expect(try await other.master("GET", Self.path)["state"] == #""running""#)
            #expect(try await Self.experiment(other)?.state == .running)

            var test = app
            test.environment = .test
            #expect(try await test.master("POST", "/config/import?publish=true", exported).status == 200)
            try #require(try await test.master("POST", Self.path + "/start").status == 200)
            try #require(try await app.master("DELETE", Self.path, headers: ["if-match": "*"]).status == 204)
            let promoted = try await app.master("POST", Self.path + "/promote")
            #expect(promoted.status == 200, "\(promoted)")
            #expect(try await Self.experiment(app)?.state == .draft)
            #expect(try await app.master("POST", Self.path + "/start").status == 200)
        }
    }

    @Test func `An experiment that was deleted as a draft counts units when it is created again`() async throws {
        try await Self.run { app in
            #expect(try await app.master("DELETE", Self.path, headers: ["if-match": "*"]).status == 204)
            try #require(
                try await app.master("PUT", Self.path, try TestExperiment.json().text, headers: ["if-none-match": "*"])
                    .status == 201)
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            let space = try await app.service.live.current(app.space)
            _ = await app.service.experiments.configuration("1.2.0", for: TestExperiment.device(1), [:], in: space)
            await app.service.experiments.log.flush()
            try await eventually { try await app.postgres.query("SELECT FROM config.exposures").count == 1 }
        }
    }

    @Test func `A missing version, a second experiment or a past period prevents the start`()
        async throws
    {
        try await Self.run { app in
            var variations = #"[{"key":"control"},{"key":"dark","configuration":{"name":"1.2.0~Dark","version":7}}]"#
            try #require(
                try await app.master("PATCH", Self.path, #"{"variations":\#(variations)}"#, headers: ["if-match": "*"])
                    .status == 200)
            let unknown = try await app.master("POST", Self.path + "/start")
            #expect(
                unknown.isProblem(.documentRefused) && unknown["findings.0.code"] == #""unknown-version""#, "\(unknown)"
            )

            variations = #"[{"key":"control"},{"key":"dark","configuration":{"name":"1.2.0~Dark","version":1}}]"#
            try #require(
                try await app.master("PATCH", Self.path, #"{"variations":\#(variations)}"#, headers: ["if-match": "*"])
                    .status == 200)
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            let other = try TestExperiment.json(#"{"title":"Other"}"#).text
            try #require(
                try await app.master("PUT", "/config/experiment/other", other, headers: ["if-none-match": "*"]).status
                    == 201)
            let refused = try await app.master("POST", "/config/experiment/other/start")
            #expect(
                refused.isProblem(.documentRefused) && refused["findings.0.code"] == #""overlapping-experiments""#,
                "\(refused)")

            try #require(
                try await app.master(
                    "PATCH", "/config/experiment/other", #"{"configuration":"1.3.0","end":"2026-01-01T00:00:00Z"}"#,
                    headers: ["if-match": "*"]
                ).status == 200)
            #expect(try await app.master("POST", "/config/experiment/other/start").isProblem(.conflict, field: "end"))
            #expect(try await app.service.live.current(app.space)[DocumentKey(.experiment, "other")] == nil)
        }
    }

    @Test func `An edit of a running experiment is published with its state, unless it moves units`()
        async throws
    {
        try await Self.run { app in
            try #require(try await app.master("POST", Self.path + "/start").status == 200)
            func publish(_ patch: String) async throws -> Answer {
                try #require(try await app.master("PATCH", Self.path, patch, headers: ["if-match": "*"]).status == 200)
                return try await app.master("POST", Self.path + "/publish")
            }
            #expect(try await publish(#"{"title":"Darker"}"#).status == 200)
            let refused = try await publish(#"{"coverage":0.5}"#)
            #expect(
                refused.isProblem(.documentRefused) && refused["findings.0.code"] == #""moves-units""#, "\(refused)")
            // Stopping works for any draft, and keeps its changes.
            #expect(try await app.master("POST", Self.path + "/stop").status == 200)
            #expect(try await app.master("GET", Self.path)["coverage"] == "0.5")
            #expect(try await Self.experiment(app)?.coverage == 1)
        }
    }

    @Test func `Starting, stopping and deciding require the right, and work only on experiments`() async throws {
        try await Self.run { (app: ConfigApp) async throws in
            for call in ["start", "stop", "decide"] {
                #expect(try await app.staff("POST", Self.path + "/" + call).isProblem(.forbidden))
                #expect(try await app.client("POST", Self.path + "/" + call).isProblem(.forbidden))
                #expect(try await app.master("POST", "/config/configuration/1.2.0/" + call).isProblem(.notFound))
                #expect(
                    try await app.master("POST", "/config/experiment/none/" + call, #"{"variation":"a"}"#).status >= 400
                )
            }
        }
    }

    private static func contents(_ app: ConfigApp) async throws -> [String] {
        try await app.database.withSuperuser { client in
            try await client.query(
                "SELECT draft || coalesce(live_version, 0) || last_version FROM config.documents ORDER BY name"
            ).map { try $0.decode(0) }
        }
    }
}
