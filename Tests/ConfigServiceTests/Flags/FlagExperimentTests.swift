import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import ConfigService

/// Experiments on flags, as seen by apps and evaluators.
@Suite struct FlagExperimentTests {
    private static let flags =
        #"{"flags":{"title":{"type":"string","default":"live"},"rate":{"type":"number","default":1.0},"off":{"type":"boolean","default":false,"enabled":false}}}"#
    private static let experiment = """
        {"title":"Title","state":"draft","unit":"device","variations":[{"key":"control"},
        {"key":"b","flags":{"title":"tested","rate":"wrong type","off":true}}],"metrics":[{"name":"purchase","kind":"proportion"}]}
        """

    @Test func `a variation overrides the rules of a flag`() async throws {
        try await ConfigApp.run { app in
            // The rate becomes a number while the experiment runs.
            try await app.publish(
                .flags, "default",
                Self.flags.replacing(#""type":"number","default":1.0"#, with: #""type":"string","default":"1.0""#))
            let stored = try await app.master(
                "PUT", "/config/experiment/title", Self.experiment, headers: ["if-none-match": "*"])
            try #require(stored.status == 201, "\(stored)")
            let context = #"{"context":{"targetingKey":"d1"}}"#
            let before = try await app.client("POST", "/flags/evaluate", context, headers: ["x-device-id": "d1"])
            #expect(before["experiments"] == "{}" && before["flags.title.value"] == #""live""#, "\(before)")
            try #require(try await app.master("POST", "/config/experiment/title/start").status == 200)
            try await app.publish(.flags, "default", Self.flags)

            var seen: [String: Int] = [:]
            for number in 1...20 {
                let answer = try await app.client(
                    "POST", "/flags/evaluate", context, headers: ["x-device-id": "d\(number)"])
                let variation = try #require(answer["experiments.title"])
                seen[variation, default: 0] += 1
                #expect(answer.header("experiments") == "title=" + variation.filter { $0 != "\"" })
                let isTested = variation == #""b""#
                #expect(answer["flags.title.value"] == (isTested ? #""tested""# : #""live""#), "\(answer)")
                #expect(answer["flags.title.reason"] == (isTested ? #""SPLIT""# : #""STATIC""#))
                // A flag of another type and a flag that is switched off keep their values.
                #expect(answer["flags.rate.value"] == "1.0" && answer["flags.off.value"] == "false", "\(answer)")
                // An evaluator gets the same value for the same device, for single flags and for all at once.
                let evaluator = app.gateway.acting(as: app.principal(.evaluation))
                let body = #"{"context":{"targetingKey":"d\#(number)"}}"#
                #expect(
                    try await evaluator.post("/ofrep/v1/evaluate/flags/title", body)["value"]
                        == answer["flags.title.value"])
                #expect(
                    try await evaluator.post("/ofrep/v1/evaluate/flags", body)["flags.0.value"]
                        == answer["flags.title.value"])
            }
            #expect(seen.count == 2, "\(seen)")

            // A client with a cached answer gets the new one, and then 304.
            let tag = try #require(before.header("etag"))
            let now = try await app.client(
                "POST", "/flags/evaluate", context, headers: ["x-device-id": "d1", "if-none-match": tag])
            #expect(now.status == 200)
            let newTag = try #require(now.header("etag"))
            #expect(
                try await app.client(
                    "POST", "/flags/evaluate", context, headers: ["x-device-id": "d1", "if-none-match": newTag]
                ).status == 304)

            // Each exposure is recorded once.
            try await eventually {
                try await app.postgres.query("SELECT count(*) FROM config.exposures")[0].decode(0, as: Int.self) == 20
            }
        }
    }

    @Test func `A flag value of another type prevents the start, and a missing one is a warning`()
        async throws
    {
        try await ConfigApp.run { app in
            try await app.publish(.flags, "default", Self.flags)
            try #require(
                try await app.master(
                    "PUT", "/config/experiment/title", Self.experiment, headers: ["if-none-match": "*"]
                ).status == 201)
            let refused = try await app.master("POST", "/config/experiment/title/start")
            #expect(
                refused.isProblem(.documentRefused) && refused["findings.0.path"] == #""/variations/1/flags/rate""#,
                "\(refused)")
            #expect(
                try await app.postgres.query(
                    "SELECT FROM config.versions AS v JOIN config.documents AS d ON d.id = v.document_id WHERE d.kind = 'experiment'"
                ).isEmpty)
            let patch = #"{"configuration":"9.9","variations":[{"key":"control"},{"key":"b","flags":{"nobody":1}}]}"#
            try #require(
                try await app.master("PATCH", "/config/experiment/title", patch, headers: ["if-match": "*"]).status
                    == 200)
            let started = try await app.master("POST", "/config/experiment/title/start")
            #expect(started.status == 200 && started["findings.0.code"] == #""unknown-configuration""#, "\(started)")
            #expect(started["findings.1.path"] == #""/variations/1/flags/nobody""#, "\(started)")
        }
    }

    @Test func `Changed weights keep assigned units, even on instances that never saw them`() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.flags, "default", Self.flags)
            let experiment = Self.experiment.replacing(#""rate":"wrong type","#, with: "")
            try #require(
                try await app.master("PUT", "/config/experiment/title", experiment, headers: ["if-none-match": "*"])
                    .status == 201)
            try #require(try await app.master("POST", "/config/experiment/title/start").status == 200)
            let evaluator = app.gateway.acting(as: app.principal(.evaluation))
            func title(_ device: String) async throws -> String? {
                try await evaluator.post(
                    "/ofrep/v1/evaluate/flags/title", #"{"context":{"targetingKey":"\#(device)"}}"#)["value"]
            }
            var before: [String: String?] = [:]
            for number in 1...30 { before["d\(number)"] = try await title("d\(number)") }
            await app.service.experiments.log.flush()
            let changed = experiment.replacing(#""state":"draft""#, with: #""state":"running","phase":1"#)
                .replacing(#"{"key":"control"}"#, with: #"{"key":"control","weight":0.02}"#).replacing(
                    #""key":"b""#, with: #""key":"b","weight":0.98"#)
            try #require(try await app.publish(.experiment, "title", changed).status == 200)
            for (device, value) in before { #expect(try await title(device) == value, "\(device)") }
            var new: [String?] = []
            for number in 1...30 { new.append(try await title("new\(number)")) }
            #expect(new.filter { $0 == #""tested""# }.count > 20, "\(new)")
        }
    }
}
