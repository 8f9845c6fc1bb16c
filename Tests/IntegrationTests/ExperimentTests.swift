import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// An experiment from start to results, through the gateway, with events sent by Segment's API.
    @Suite(.localServer)
    struct ExperimentTests {
        private static let flags = """
            {"flags":{"title":{"type":"string","default":"live"},
              "gold":{"type":"boolean","default":false,"rules":[{"when":{"user.profile.plan":"gold"},"value":true}]}}}
            """
        private static let experiment = """
            {"title":"Checkout","state":"draft","unit":"device","variations":[{"key":"control"},{"key":"dark","flags":{"title":"dark"}}],
             "metrics":[{"name":"bought","event":"Bought"},{"name":"spent","kind":"mean","event":"Bought","property":"price","covariate":true}]}
            """

        let server: LocalServer

        init() throws {
            server = try .current
        }

        @Test
        func `exposures and events are joined in results, which remain readable without analytics`()
            async throws
        {
            let client = Client(server.connection), master = Client.master(server.connection)
            #expect(
                try await master.adding("if-none-match", "*").send("PUT", "config/flags/default", Self.flags).isSuccess)
            #expect(try await master.post("config/flags/default/publish", "{}").status == 200)
            let stored = try await master.adding("if-none-match", "*").send(
                "PUT", "config/experiment/checkout", Self.experiment)
            try #require(stored.status == 201, "\(stored)")
            #expect(try await master.post("config/experiment/checkout/start", "{}").status == 200)

            var given: [String: [String]] = [:]
            for number in 0..<20 {
                var reply = try await client.adding("x-device-id", "d\(number)").post("flags/evaluate", "{}")
                try await eventually("the experiment runs") {
                    reply = try await client.adding("x-device-id", "d\(number)").post("flags/evaluate", "{}")
                    return reply.string("experiments.checkout") != nil
                }
                let variation = try #require(reply.string("experiments.checkout"))
                #expect(
                    reply.header("experiments") == "checkout=" + variation
                        && (reply.string("flags.title.value") == "dark") == (variation == "dark"))
                given[variation, default: []].append("d\(number)")
            }
            let (control, dark) = (try #require(given["control"]), try #require(given["dark"]))
            let before = Date().addingTimeInterval(-86_400)
            try await send([
                Self.bought(dark[0], 40, at: before), Self.bought(dark[0], 10, says: "dark"), Self.bought(dark[0], 2.5),
                Self.bought(control[0], 3, says: "control"),
            ])

            var results = try await master.get("config/experiment/checkout/results")
            try await eventually("exposures are written") {
                try await Task.sleep(for: .milliseconds(300))
                results = try await master.get("config/experiment/checkout/results")
                return results["units.control"] == "\(control.count)" && results["units.dark"] == "\(dark.count)"
            }
            // Analytics may have been asked before the last of them was written; half a minute later it is asked again.
            try await eventually("the results cover all exposures", within: .seconds(180)) {
                try await Task.sleep(for: .milliseconds(300))
                results = try await master.get("config/experiment/checkout/results")
                return results["metrics.0.variations.0.units"] == "\(dark.count)"
                    && results["metrics.0.control.units"] == "\(control.count)"
                    && results["conversions.seen"] == #"{"control":1,"dark":1}"#
            }
            #expect(
                results["conversions.problem"] == "null" && results["conversions.seen"] == #"{"control":1,"dark":1}"#,
                "\(results)")
            #expect(
                results["metrics.0.variations.0.mean"] == "\(1 / Double(dark.count))"
                    && results["metrics.0.control.mean"] == "\(1 / Double(control.count))")
            #expect(results["metrics.1.variations.0.mean"] == "\(12.5 / Double(dark.count))", "\(results)")

            try await server.withoutSupervisor {
                try server.signal("analytics", SIGKILL)
                // Analytics is not asked again within half a minute, so the outage shows only then.
                try await eventually("the results report that analytics is unavailable", within: .seconds(180)) {
                    try await Task.sleep(for: .milliseconds(300))
                    results = try await master.get("config/experiment/checkout/results")
                    #expect(
                        results.status == 200
                            && results["metrics.1.variations.0.mean"] == "\(12.5 / Double(dark.count))", "\(results)")
                    return results.string("conversions.problem") == "unavailable"
                }
            }
            try await eventually("analytics is available again", within: .seconds(180)) {
                try await Task.sleep(for: .milliseconds(300))
                results = try await master.get("config/experiment/checkout/results")
                return results["conversions.problem"] == "null"
            }
            #expect(results["conversions.seen"] == #"{"control":1,"dark":1}"#, "\(results)")
        }

        @Test func `a user's profile provides attributes for conditions`() async throws {
            let app = try await server.makeApp("Profiles")
            let client = server.client(app)
            let master = Client(
                url: server.connection.url, appKey: app.appKey, headers: [HeaderName.masterKey: app.masterKey])
            try await eventually("the gateway knows the app") { try await client.get("storage/Note").status == 200 }
            let tokens = try await client.post(
                "auth/signup", #"{"userName":"ada","password":"correct horse","profile":{"plan":"gold"}}"#)
            let token = try #require(tokens.string("accessToken"), "\(tokens)")
            for secret in [token, "correct horse"] { server.record(secret: secret) }
            #expect(
                try await master.adding("if-none-match", "*").send("PUT", "config/flags/default", Self.flags).status
                    == 201)
            #expect(try await master.post("config/flags/default/publish", "{}").status == 200)
            let claim = #"{"context":{"user":{"id":"x","profile":{"plan":"gold"}}}}"#
            try await eventually("flags are live") {
                try await client.post("flags/evaluate", claim)["flags.gold.value"] == "false"
            }
            #expect(
                try await client.adding("authorization", "Bearer \(token)").post("flags/evaluate", claim)[
                    "flags.gold.value"] == "true")
        }

        private static func bought(
            _ device: String, _ price: Double, says variation: String? = nil, at date: Date = Date()
        ) -> String {
            let context = variation.map { #","context":{"experiments":{"checkout":"\#($0)"}}"# } ?? ""
            return
                #"{"type":"track","event":"Bought","anonymousId":"\#(device)","timestamp":"\#(date.ISO8601Format())","messageId":"\#(UUID())","properties":{"price":\#(price)}\#(context)}"#
        }

        private func send(_ messages: [String]) async throws {
            let key = Data("\(server.connection.ingestKey):".utf8).base64EncodedString()
            // Like Segment's clients, whose clock may differ from the server's.
            let body = #"{"sentAt":"\#(Date().ISO8601Format())","batch":[\#(messages.joined(separator: ","))]}"#
            let reply = try await Client.send(
                "POST", server.connection.url + "/segment/v1/batch",
                headers: ["Authorization": "Basic " + key, "Content-Type": "application/json"], body)
            try #require(reply["accepted"] == String(messages.count), "\(reply)")
        }
    }
}
