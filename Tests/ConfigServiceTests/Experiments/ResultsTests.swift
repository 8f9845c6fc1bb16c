import Foundation
import MartletAPI
import MartletCore
import MartletFlags
import MartletPostgres
import MartletTesting
import Testing

@testable import ConfigService

@Suite struct ResultsTests {
    private static let path = "/config/experiment/checkout"
    /// The samples of ../shared/vectors/stats.
    private static let purchase = #"{"control":{"units":4000,"sum":200},"dark":{"units":4100,"sum":246}}"#
    private static let spent =
        #"{"control":{"units":1000,"sum":5000,"sumOfSquares":35000},"dark":{"units":1100,"sum":5940,"sumOfSquares":43000}}"#

    private static func run(_ changes: String = "{}", _ body: @Sendable (ConfigApp) async throws -> Void) async throws {
        let draft = try TestExperiment.json(changes).text
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            try #require(try await app.master("PUT", path, draft, headers: ["if-none-match": "*"]).status == 201)
            try await body(app)
        }
    }

    private static func number(_ answer: Answer, _ path: String) throws -> Double {
        try #require(answer[path].flatMap { Double($0) }, "\(path) of \(answer)")
    }

    @Test func `Posted data are analysed as by gbstats`() async throws {
        try await Self.run { app in
            let answer = try await app.master(
                "POST", Self.path + "/results", #"{"metrics":{"purchase":\#(Self.purchase),"spent":\#(Self.spent)}}"#)
            #expect(answer.status == 200, "\(answer)")
            let dark = "metrics.0.variations.0."
            let expected = [
                ("metrics.0.control.mean", 0.05), (dark + "mean", 0.06),
                (dark + "absolute.effect", 0.009999999999999995), (dark + "absolute.fixed.p", 0.04827674238687063),
                (dark + "absolute.fixed.interval.0", 7.576930480747597e-05),
                (dark + "absolute.sequential.p", 0.6092091796666662),
                (dark + "relative.fixed.p", 0.07186068259746059),
                (dark + "relative.bayesian.chanceToWin", 0.9640883282353405),
                (dark + "relative.bayesian.riskOfTaking", 0.0015850250687868335),
                (dark + "fixedPHolm", 0.07186068259746059),
                ("metrics.1.variations.0.relative.effect", 0.08),
                ("metrics.1.variations.0.relative.fixed.p", 0.005495185019341653),
                ("metrics.1.variations.0.fixedPHolm", 2 * 0.005495185019341653),
                ("metrics.1.variations.0.sequentialPHolm", 2 * 0.10667486927859642),
            ]
            for (path, value) in expected {
                let number = try Self.number(answer, path)
                #expect(abs(number - value) <= 1e-9 * abs(value), "\(path): \(number)")
            }
            #expect(answer["hint.advice"] == #""wait""# && answer["units.dark"] == "4100", "\(answer)")
            // p = 0.27 for 4000 to 4100 with equal weights.
            #expect(abs(try Self.number(answer, "sampleRatioP") - 0.2665) < 0.001)
            // To detect an effect of a tenth, each variation needs about 29,800 units, by (1.96 + 0.84)².
            #expect(abs(try Self.number(answer, dark + "neededUnits") - 2 * 29_828) < 200)
        }
    }

    @Test(arguments: [
        (#"{"purchase":{"control":{"units":50000,"sum":2500},"dark":{"units":50000,"sum":3500}}}"#, "increase", "take"),
        (#"{"purchase":{"control":{"units":50000,"sum":2500},"dark":{"units":50000,"sum":3500}}}"#, "decrease", "stay"),
        (#"{"purchase":{"control":{"units":50000,"sum":3500},"dark":{"units":50000,"sum":2500}}}"#, "increase", "stay"),
        (
            #"{"purchase":{"control":{"units":50000,"sum":2500},"dark":{"units":52000,"sum":3640}}}"#, "increase",
            "distrust"
        ),
        (#"{"purchase":{"control":{"units":99,"sum":5},"dark":{"units":110,"sum":50}}}"#, "increase", "wait"),
        (
            #"{"purchase":{"control":{"units":2000000,"sum":100000},"dark":{"units":2000000,"sum":100000}}}"#,
            "increase", "stay"
        ),
        (#"{"purchase":{"control":{"units":0,"sum":0},"dark":{"units":0,"sum":0}}}"#, "increase", "wait"),
    ])
    func `The hint follows sequential tests and guard rails`(metrics: String, goal: String, advice: String) async throws
    {
        try await Self.run(#"{"metrics":[{"name":"purchase","goal":"\#(goal)","minimumEffect":0.1}]}"#) { app in
            let answer = try await app.master("POST", Self.path + "/results", #"{"metrics":\#(metrics)}"#)
            #expect(
                answer["hint.advice"] == JSONValue.quote(advice)
                    && answer["metrics.0.hint.advice"] == JSONValue.quote(advice), "\(answer)")
            #expect((answer["hint.variation"] == #""dark""#) == (advice == "take"))
        }
    }

    @Test func `Units assigned under other weights do not count as a sample ratio mismatch`() async throws {
        let metrics = #"{"purchase":{"control":{"units":50000,"sum":2500},"dark":{"units":70000,"sum":4900}}}"#
        try await Self.run(#"{"phase":1}"#) { app in
            let answer = try await app.master("POST", Self.path + "/results", #"{"metrics":\#(metrics)}"#)
            #expect(
                answer["sampleRatioP"] == "null" && answer["guardRails.1.met"] == "true"
                    && answer["hint.advice"] == #""take""#, "\(answer)")
        }
        try await Self.run { app in
            let answer = try await app.master("POST", Self.path + "/results", #"{"metrics":\#(metrics)}"#)
            #expect(answer["guardRails.1.met"] == "false" && answer["hint.advice"] == #""distrust""#, "\(answer)")
        }
    }

    @Test func `A covariate reduces variance, and a ratio uses the delta method`() async throws {
        let metrics = #"[{"name":"spent","kind":"mean","covariate":true},{"name":"basket","kind":"ratio"}]"#
        try await Self.run(#"{"metrics":\#(metrics)}"#) { app in
            let adjusted = """
                {"control":{"units":1000,"sum":5000,"sumOfSquares":35000,"covariate":{"sum":4800,"sumOfSquares":33000},"sumOfProducts":32000},
                 "dark":{"units":1100,"sum":5940,"sumOfSquares":43000,"covariate":{"sum":5300,"sumOfSquares":36500},"sumOfProducts":37500}}
                """
            let ratio = adjusted.replacing("covariate", with: "denominator")
            let answer = try await app.master(
                "POST", Self.path + "/results", #"{"metrics":{"spent":\#(adjusted),"basket":\#(ratio)}}"#)
            #expect(answer.status == 200, "\(answer)")
            let reduction = try Self.number(answer, "metrics.0.variations.0.adjustment.varianceReduction")
            #expect((0.4...0.9).contains(reduction), "\(reduction)")
            #expect(answer["metrics.0.control.mean"] == "5.0" && answer["metrics.1.variations.0.adjustment"] == "null")
            #expect(abs(try Self.number(answer, "metrics.1.control.mean") - 5_000.0 / 4_800) < 1e-12)
            #expect(try Self.number(answer, "metrics.1.variations.0.absolute.standardError") > 0)
        }
    }

    @Test func `The last observations of a day are stored, and results count exposures as units`() async throws {
        try await Self.run { app in
            func put(_ metric: String, _ variations: String, _ asOf: Date) async throws -> Int {
                let body = #"{"variations":\#(variations),"asOf":"\#(asOf.formatted(.iso8601))"}"#
                return try await app.master("PUT", Self.path + "/metrics/\(metric)/observations", body).status
            }
            let now = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400)
            let yesterday = now.addingTimeInterval(-80_000)
            #expect(
                try await put(
                    "purchase", #"{"control":{"units":400,"sum":20},"dark":{"units":400,"sum":25}}"#, yesterday) == 204)
            #expect(
                try await put("purchase", #"{"control":{"units":4000,"sum":100},"dark":{"units":4100,"sum":100}}"#, now)
                    == 204)
            #expect(try await put("purchase", Self.purchase, now) == 204)
            #expect(try await put("spent", Self.spent, now) == 204)
            let space = TestExperiment.space(try TestExperiment.compiled())
            for number in 0..<300 {
                _ = await app.service.experiments.configuration(
                    "1.2.0", for: TestExperiment.device(number), [:], in: space)
            }
            await app.service.experiments.log.flush()

            let answer = try await app.master("GET", Self.path + "/results")
            #expect(answer.status == 200, "\(answer)")
            #expect(
                try Self.number(answer, "units.control") + (try Self.number(answer, "units.dark")) == 300
                    && answer["multipleExposures"] == "0")
            #expect(
                abs(try Self.number(answer, "metrics.0.variations.0.absolute.fixed.p") - 0.04827674238687063) < 1e-9)
            #expect(
                answer["series.purchase.0.variations.dark.units"] == "400"
                    && answer["series.purchase.1.variations.dark.units"] == "4100")
            #expect(
                answer["series.purchase.2"] == nil && answer["series.spent.0"] != nil && answer["state"] == #""draft""#)
        }
    }

    @Test(arguments: [
        (#"{"units":-1,"sum":0}"#, "units"), (#"{"units":1.5,"sum":0}"#, "units"), (#"{"sum":0}"#, "units"),
        (#"{"units":10}"#, "sum"),
        (#"{"units":10,"sum":11}"#, "sum"), (#"{"units":10,"sum":-1}"#, "sum"), (#"{"units":10,"sum":"5"}"#, "sum"),
        (#"{"units":10,"sum":5,"sumOfSquares":5}"#, "sumOfSquares"), (#"[]"#, ""),
        (#"{"units":10,"sum":5,"mean":0.5}"#, "mean"),
    ])
    func `Impossible sums of a proportion are refused, and the error names the field`(sums: String, field: String)
        async throws
    {
        try await Self.run { app in
            let body = #"{"control":{"units":10,"sum":5},"dark":\#(sums)}"#
            let suffix = field.isEmpty ? "" : "." + field
            let refused = try await app.master(
                "PUT", Self.path + "/metrics/purchase/observations", #"{"variations":\#(body)}"#)
            #expect(refused.isProblem(.invalidBody, field: "variations.dark" + suffix), "\(refused)")
            let computed = try await app.master("POST", Self.path + "/results", #"{"metrics":{"purchase":\#(body)}}"#)
            #expect(computed.isProblem(.invalidBody, field: "metrics.purchase.dark" + suffix), "\(computed)")
            #expect(try await app.postgres.query("SELECT 1 FROM config.observations").isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"units":10,"sum":5}"#, "sumOfSquares"), (#"{"units":10,"sum":50,"sumOfSquares":249}"#, "sumOfSquares"),
        (#"{"units":0,"sum":5,"sumOfSquares":9}"#, "sumOfSquares"),
    ])
    func `Impossible sums of values are refused, and the error names the field`(sums: String, field: String)
        async throws
    {
        try await Self.run { app in
            let body = #"{"variations":{"control":{"units":10,"sum":5,"sumOfSquares":9},"dark":\#(sums)}}"#
            let refused = try await app.master("PUT", Self.path + "/metrics/spent/observations", body)
            #expect(refused.isProblem(.invalidBody, field: "variations.dark." + field), "\(refused)")
        }
    }

    @Test func `Impossible products, unknown variations and metrics, invalid times and missing parts are refused`()
        async throws
    {
        let metrics = #"[{"name":"spent","kind":"mean","covariate":true},{"name":"bought","covariate":true}]"#
        try await Self.run(#"{"metrics":\#(metrics)}"#) { app in
            let put = Self.path + "/metrics/spent/observations"
            func variations(_ products: Int) -> String {
                let sums =
                    #"{"units":100,"sum":500,"sumOfSquares":3500,"covariate":{"sum":500,"sumOfSquares":3500},"sumOfProducts":\#(products)}"#
                return #"{"control":\#(sums),"dark":\#(sums)}"#
            }
            let cases: [(String, String, String)] = [
                (put, #"{"variations":\#(variations(4_000))}"#, "variations.control.sumOfProducts"),
                (put, #"{"variations":\#(variations(900))}"#, "variations.control.sumOfProducts"),
                (put, #"{"variations":{"control":{},"blue":{}}}"#, "variations.blue"), (put, "{}", "variations"),
                (put, #"{"variations":\#(variations(3_000)),"asOf":"2031-01-01T00:00:00Z"}"#, "asOf"),
                (put, #"{"variations":\#(variations(3_000)),"asOf":"2020-01-01T00:00:00Z"}"#, "asOf"),
                (put, #"{"variations":1}"#, "variations"),
                (Self.path + "/results", #"{"metrics":{}}"#, "metrics"),
                (Self.path + "/results", #"{"metrics":{"other":{}}}"#, "metrics.other"),
                (Self.path + "/results", #"{"metrics":{"spent":\#(variations(3_000))},"units":{"blue":1}}"#, "blue"),
            ]
            for (path, body, field) in cases {
                let refused = try await app.master(path == put ? "PUT" : "POST", path, body)
                #expect(refused.isProblem(.invalidBody, field: field), "\(body): \(refused)")
            }
            #expect(try await app.master("PUT", Self.path + "/metrics/none/observations", "{}").isProblem(.notFound))
            #expect(try await app.master("GET", "/config/experiment/none/results").isProblem(.documentNotFound))
            #expect(try await app.master("GET", "/config/configuration/1.2.0/results").isProblem(.notFound))
            #expect(try await app.client("GET", Self.path + "/results").isProblem(.forbidden))
            #expect(try await app.postgres.query("SELECT 1 FROM config.observations").isEmpty)
            #expect(try await app.master("PUT", put, #"{"variations":\#(variations(3_000))}"#).status == 204)
            // Two units whose value and covariate are the same: the highest possible covariance.
            let same = #"{"units":2,"sum":1,"covariate":{"sum":1,"sumOfSquares":1},"sumOfProducts":1}"#
            let accepted = try await app.master(
                "PUT", Self.path + "/metrics/bought/observations",
                #"{"variations":{"control":\#(same),"dark":\#(same)}}"#)
            #expect(accepted.status == 204, "\(accepted)")
        }
    }
}
