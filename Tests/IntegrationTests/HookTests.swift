import Foundation
import Glibc
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    @Suite(.localServer(environment: ["MARTLET_HOOKS_PRIVATE_ALLOWED": "true"]))
    struct HookTests {
        let server: LocalServer
        let client: Client
        let master: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        @Test(.enabled(if: ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"]?.isEmpty == false))
        func `an app's own server gets before-hooks, function calls and every after-hook although storage is killed`()
            async throws
        {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let files = ["address", "secrets", "told"].map { server.folder.appending(path: "hooks.\($0)") }
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
                path: "Support/hook_server.py")
            let program = try RunningProgram.start(
                [python, script.path] + files.map(\.path), environment: ["PATH": "/usr/bin:/bin"],
                output: server.folder.appending(path: "hooks.out"), errors: server.folder.appending(path: "hooks.err"))
            defer { program.signal(SIGKILL) }
            try await eventually("the hooks' server is ready") {
                FileManager.default.fileExists(atPath: files[0].path)
            }
            let url = try String(contentsOf: files[0], encoding: .utf8)

            var secrets: [String: String] = [:]
            for (name, rest) in [
                ("sum", #""event":"function","callers":["*"]"#),
                ("check", #""event":"beforeSave","collection":"Notes""#),
                ("tell", #""event":"afterSave","collection":"Notes""#),
            ] {
                let made = try await master.send("PUT", "hooks/\(name)", #"{"url":"\#(url)",\#(rest)}"#)
                try #require(made.status == 201, "\(made)")
                secrets[name] = made.string("secret")
                server.record(secret: made.string("secret") ?? "")
            }
            try JSONEncoder().encode(secrets).write(to: files[1])
            #expect(try await [401, 403].contains(client.get("hooks").status))

            let sum = try await client.post("functions/sum", "[1,2,3]")
            #expect(sum.status == 200 && sum.text == #"{"result":{"sum":6,"user":null}}"#, "\(sum)")
            #expect(try await client.post("storage/Notes", #"{"bad":true}"#).isProblem(.hookRefused))
            for number in 0..<20 {
                #expect(try await client.post("storage/Notes", #"{"_id":"n\#(number)"}"#).status == 201)
            }
            try server.signal("storage", SIGKILL)
            try await eventually("every write has been delivered", within: .seconds(180)) {
                let told = (try? String(contentsOf: files[2], encoding: .utf8)) ?? ""
                return Set(told.split(separator: "\n")).count == 20
            }
            let deliveries = try await master.get("hooks/tell/deliveries?limit=100")
            #expect(deliveries["count"] == "20", "\(deliveries)")
        }
    }
}
