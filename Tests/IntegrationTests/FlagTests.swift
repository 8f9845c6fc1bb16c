import Foundation
import MartletAPI
import MartletCore
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
        func `openfeature-provider-ofrep and schemathesis find the protocol as it is published`() async throws {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Support/ofrep_client.py")
            let vectors = ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors"
            let description = URL(fileURLWithPath: vectors).appending(path: "flags/ofrep-openapi-0.3.0.yaml").path
            let connection = server.connection
            let program = try RunningProgram.start(
                [
                    python, script.path, client.url, "\(client.url)/api/\(client.appKey)", connection.masterKey, connection.secret,
                    connection.evaluationKey, FileManager.default.fileExists(atPath: description) ? description : "-",
                ],
                environment: ["PATH": "/usr/bin:/bin"], output: server.folder.appending(path: "ofrep.out"),
                errors: server.folder.appending(path: "ofrep.err"))
            let status = try await program.exitStatus(limit: .seconds(300))
            let errors = try String(contentsOf: server.folder.appending(path: "ofrep.err"), encoding: .utf8)
            #expect(status == 0, "\(errors.suffix(8_000))")
        }

        @Test(arguments: ["/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/f"])
        func `Only an evaluation key opens the protocol`(_ path: String) async throws {
            let body = #"{"context":{"targetingKey":"u"}}"#
            func post(_ headers: [String: String]) async throws -> Int {
                try await Client.send("POST", client.url + path, headers: headers, body).status
            }
            #expect(try await post([:]) == 401)
            #expect(try await post(["X-API-Key": server.connection.ingestKey]) == 401)
            #expect(try await post(["Authorization": "Bearer " + server.connection.secret]) == 401)
            #expect(try await post(["X-API-Key": server.connection.evaluationKey]) != 401)
        }
    }
}
