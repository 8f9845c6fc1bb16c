import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

extension IntegrationTests {
    /// Flags, through the gateway.
    @Suite(.localServer)
    struct FlagTests {
        let server: LocalServer
        let client: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
        }

        @Test(.enabled(if: ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"]?.isEmpty == false))
        func `the server follows OFREP according to openfeature-provider-ofrep and schemathesis`() async throws {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
                path: "Support/ofrep_client.py")
            let vectors = ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors"
            let description = URL(fileURLWithPath: vectors).appending(path: "flags/ofrep-openapi-0.3.0.yaml").path
            let connection = server.connection
            let program = try RunningProgram.start(
                [
                    python, script.path, client.url, "\(client.url)/api/\(client.appKey)", connection.masterKey,
                    connection.secret,
                    connection.evaluationKey, FileManager.default.fileExists(atPath: description) ? description : "-",
                ],
                environment: ["PATH": "/usr/bin:/bin"], output: server.folder.appending(path: "ofrep.out"),
                errors: server.folder.appending(path: "ofrep.err"))
            let status = try await program.exitStatus(limit: .seconds(300))
            let errors = try String(contentsOf: server.folder.appending(path: "ofrep.err"), encoding: .utf8)
            #expect(status == 0, "\(errors.suffix(8_000))")
        }

        @Test(arguments: ["/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/f"])
        func `Only an evaluation key gives access to the protocol`(_ path: String) async throws {
            let body = #"{"context":{"targetingKey":"u"}}"#
            func post(_ headers: [String: String]) async throws -> Int {
                try await Client.send("POST", client.url + path, headers: headers, body).status
            }
            #expect(try await post([:]) == 401)
            #expect(try await post(["X-API-Key": server.connection.ingestKey]) == 401)
            #expect(try await post(["Authorization": "Bearer " + server.connection.secret]) == 401)
            #expect(try await post(["X-API-Key": server.connection.evaluationKey]) != 401)
        }
        @Test func `A role granted in storage changes flags and configurations within ten seconds`()
            async throws
        {
            let app = try await server.makeApp("Roles")
            let client = server.client(app)
            let master = Client(
                url: server.connection.url, appKey: app.appKey, headers: [HeaderName.masterKey: app.masterKey])
            try await eventually("the gateway knows the app") { try await client.get("storage/Note").status == 200 }
            let tokens = try await client.post("auth/signup", #"{"userName":"ada","password":"correct horse"}"#)
            let (token, id) = (
                try #require(tokens.string("accessToken"), "\(tokens)"), try #require(tokens.string("user.id"))
            )
            for secret in [token, "correct horse"] { server.record(secret: secret) }
            let asAda = client.adding("authorization", "Bearer \(token)")

            let flags =
                #"{"flags":{"editor":{"type":"boolean","default":false,"rules":[{"when":{"user.roles":{"$in":["editors"]}},"value":true}]}}}"#
            #expect(
                try await master.adding("if-none-match", "*").send("PUT", "config/flags/default", flags).status == 201)
            #expect(try await master.post("config/flags/default/publish", "{}").status == 200)
            let configuration =
                #"{"appVersion":"1.0","configuration":{"mainSettings":{"menu":"plain"},"overrides":[{"when":{"user.roles":{"$in":["editors"]}},"patch":{"mainSettings":{"menu":"editor"}}}]}}"#
            #expect(try await master.post("remote", configuration).status == 201)

            func answers() async throws -> [String?] {
                let said = #"{"context":{"targetingKey":"p","user":{"id":"x","roles":["editors"]}}}"#
                let flags = try await asAda.post("flags/evaluate", said)
                return [flags["flags.editor.value"], try await asAda.get("remote/1.0").string("mainSettings.menu")]
            }
            try await eventually("both are live") { try await answers() == ["false", "plain"] }
            let tag = try #require(try await asAda.get("remote/1.0").header("etag"))
            // Repeated, so that the gateway would answer 304 from its cache if it were allowed to.
            for _ in 0..<3 { #expect(try await asAda.adding("if-none-match", tag).get("remote/1.0").status == 304) }

            #expect(try await master.send("PUT", "roles/editors", #"{"add":["\#(id)"]}"#).status == 204)
            try await eventually("the role applies", within: .seconds(180)) {
                try await answers() == ["true", "editor"]
            }
            #expect(try await asAda.adding("if-none-match", tag).get("remote/1.0").status == 200)
            #expect(
                try await client.post("flags/evaluate", #"{"context":{"user":{"roles":["editors"]}}}"#)[
                    "flags.editor.value"] == "false")
            #expect(try await client.get("remote/1.0").string("mainSettings.menu") == "plain")

            #expect(try await master.send("PUT", "roles/editors", #"{"remove":["\#(id)"]}"#).status == 204)
            try await eventually("the role no longer applies", within: .seconds(180)) {
                try await answers() == ["false", "plain"]
            }
        }
    }
}
