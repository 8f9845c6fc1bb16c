import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import Testing

extension IntegrationTests {
    struct StartAndStopTests {
        @Test func `a fresh server stores an object and finds it by a query, even after down and up`() async throws {
            try await LocalServer.with { server in
                let client = Client(server.connection)
                #expect(server.connection.url == "http://127.0.0.1:\(server.port)", "MARTLET_PORT")
                let made = try await client.post("storage/Notes", #"{"title":"Milk","price":1.10}"#)
                #expect(made.status == 201, "\(made)")
                let found = try await client.post("storage/query/Notes", #"{"title":"Milk","price":{"$lt":2}}"#)
                #expect(found.status == 200 && found["count"] == "1", "\(found)")
                #expect(found["data.0.price"] == "1.10" && found.string("data.0._id") == made.string("_id"))
                #expect(found["config.version"] == "null" && found["translation.version"] == "null")

                let before = server.connection
                // A fraction of a second: the gateway's long poll at auth, which lasts 20 s, must not be waited for.
                // Several copies are stopped one after the other.
                try await server.stop(limit: .seconds(Copies.count == 1 ? 15 : 180))
                await #expect(throws: (any Error).self, "nobody listens") { try await client.get("storage/Notes") }
                try await server.startAgain()
                #expect(
                    server.connection.secret == before.secret && server.connection.staffPassword == before.staffPassword
                )
                let again = try await Client(server.connection).get("storage/Notes/\(made.string("_id") ?? "")")
                #expect(again.status == 200 && again.text == made.text, "\(again)")
            }
        }

        @Test func `connection.json has what a program needs, and only its owner can read it`() async throws {
            try await LocalServer.with { server in
                let file = server.state.appending(path: "connection.json")
                for name in ["connection.json", "secrets.json", "gateway/keyring.json"] {
                    let path = server.state.appending(path: name).path
                    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
                    #expect(mode == 0o600, "\(name)")
                }
                let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
                let texts = [
                    "url", "appId", "appKey", "secret", "masterKey", "testAppKey", "ingestKey", "evaluationKey",
                    "staffUser",
                    "staffPassword", "databaseURL",
                ]
                for key in texts { #expect((object?[key] as? String)?.isEmpty == false, "\(key)") }
                let services = object?["services"] as? [String: String]
                #expect(Set(services?.keys.map(\.self) ?? []) == Set(LocalServer.processNames))
                for (name, address) in services ?? [:] where !name.hasPrefix("gateway") {
                    let reply = try await Client.send("GET", address + "/health/ready")
                    #expect(reply.status == 200, "\(name) at \(address)")
                }
                #expect(try await server.withDatabase { try await $0.query("SELECT 1").count } == 1, "databaseURL")
                let announcement = try String(
                    contentsOf: server.folder.appending(path: "announcement"), encoding: .utf8)
                let known = server.connection
                for text in [known.url, known.appKey, known.secret, "curl", "access       open"] {
                    #expect(announcement.contains(text), "\(text) is announced")
                }
            }
        }

        @Test func `a second server on the same state is refused in one sentence`() async throws {
            try await LocalServer.with { server in
                let second = try await Programs.run(
                    "martlet",
                    [
                        "up", "--state", server.state.path, "--programs", Programs.folder.path, "--routes",
                        server.routes.path,
                    ],
                    environment: ["MARTLET_PORT": String(try FreePort.find())])
                #expect(second.status == 1)
                #expect(second.output == "")
                #expect(
                    second.errors
                        == "martlet up: a server is already running in \(server.state.path) (stop it with deploy/down)\n"
                )
                #expect(
                    try await Client(server.connection).get("storage/Notes").status == 200,
                    "the first server still runs"
                )
            }
        }

        @Test(arguments: ["0", "65536", "x"])
        func `an invalid port is refused in one sentence`(port: String) async throws {
            let folder = try TemporaryFolder.make()
            defer { TemporaryFolder.remove(folder) }
            let result = try await Programs.run(
                "martlet", ["up", "--state", folder.appending(path: "state").path, "--routes", Repository.routes.path],
                environment: ["MARTLET_PORT": port])
            #expect(result.status == 1)
            #expect(
                result.errors
                    == "martlet up: expected a port from 1 to 65535 in MARTLET_PORT, found \"\(port)\"\n")
        }

        @Test func `a misspelt setting is refused in one sentence, and nothing is started`() async throws {
            let folder = try TemporaryFolder.make()
            defer { TemporaryFolder.remove(folder) }
            let state = folder.appending(path: "state")
            let result = try await Programs.run(
                "martlet", ["up", "--state", state.path, "--routes", Repository.routes.path],
                environment: ["MARTLET_PORT": String(try FreePort.find()), "MARTLET_MIAL_HOST": "x"])
            #expect(result.status == 1)
            #expect(
                result.errors
                    == "martlet up: MARTLET_MIAL_HOST is not a setting of Martlet. Did you mean MARTLET_MAIL_HOST?\n")
            #expect(!FileManager.default.fileExists(atPath: state.appending(path: "postgres").path))
        }

        @Test func `a failed health check gives the reason in one line`() async throws {
            let url = "http://127.0.0.1:\(try FreePort.find())/health/ready"
            let result = try await Programs.run("martlet", ["health", url], environment: [:])
            #expect(result.status == 1 && result.output == "")
            #expect(result.errors.hasPrefix("martlet health: \(url) did not answer: "), "\(result)")
        }

        @Test func `after SIGKILL of the supervisor, the next one cleans up and serves the data`() async throws {
            try await LocalServer.with { server in
                let made = try await Client(server.connection).post("storage/Notes", #"{"_id":"kept"}"#)
                #expect(made.status == 201)
                server.supervisor.signal(SIGKILL)
                _ = try await server.supervisor.exitStatus()
                let orphans = try (LocalServer.processNames + ["postgres"]).map(server.pid)
                try await server.startAgain()
                for orphan in orphans { #expect(!RunningProgram.isRunning(orphan)) }
                #expect(try await Client(server.connection).get("storage/Notes/kept").text == made.text)
            }
        }
    }
}
