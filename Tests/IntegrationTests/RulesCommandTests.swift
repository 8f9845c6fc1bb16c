import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// `martlet rules` against a running server, through the gateway.
    @Suite(.localServer)
    struct RulesCommandTests {
        let server: LocalServer

        init() throws { server = try .current }

        @Test func `rules are pulled into a file, planned, and pushed unless others have set some meanwhile`()
            async throws
        {
            let app = try await server.makeApp("Ruled")
            let url = "\(server.connection.url)/api/\(app.appKey)"
            let master = Client(
                url: server.connection.url, appKey: app.appKey, headers: [HeaderName.masterKey: app.masterKey])
            func martlet(_ arguments: String...) async throws -> Programs.Result {
                try await Programs.run(
                    "martlet", ["rules"] + arguments + ["--url", url],
                    environment: ["MARTLET_MASTER_KEY": app.masterKey])
            }
            try await eventually("the gateway knows the key") {
                try await master.get("rules").status == 200
            }
            #expect(try await master.send("PUT", "collections/Notes/rules", #"{"rules":{"find":["*"]}}"#).status == 200)

            let folder = try TemporaryFolder.make()
            defer { TemporaryFolder.remove(folder) }
            let file = folder.appending(path: "rules.json")
            let pulled = try await martlet("pull")
            #expect(pulled.status == 0 && pulled.output.contains(#"        "find": ["*"]"#), "\(pulled)")
            try Data(pulled.output.replacing(#"["*"]"#, with: #"["authenticated"]"#).utf8).write(to: file)

            let plan = try await martlet("plan", file.path)
            #expect(
                plan.output.hasPrefix("Notes.rules.find:\n  - [\"*\"]\n  + [\"authenticated\"]\nwarning: "), "\(plan)")
            #expect(try await server.client(app).get("storage/Notes").status == 200, "a plan changes nothing")

            let asked = try await martlet("push", file.path)
            #expect(asked.status != 0, "nobody agreed: \(asked)")
            #expect(try await server.client(app).get("storage/Notes").status == 200)
            let pushed = try await martlet("push", file.path, "--yes")
            #expect(pushed.status == 0, "\(pushed)")
            try await eventually("the rule is in effect") {
                try await server.client(app).get("storage/Notes").isProblem(.forbidden)
            }
            #expect(try await martlet("plan", file.path).output == "Nothing changes.\n", "the file has the new base")

            #expect(try await master.send("PUT", "collections/Notes/rules", #"{"rules":{"find":[]}}"#).status == 200)
            let refused = try await martlet("push", file.path, "--yes")
            #expect(refused.status != 0 && refused.errors.contains("--force"), "\(refused)")
            #expect(try await master.get("collections/Notes/rules")["rules.find"] == "[]")
            #expect(try await martlet("push", file.path, "--yes", "--force").status == 0)
            #expect(try await master.get("collections/Notes/rules")["rules.find"] == #"["authenticated"]"#)

            try Data(#"{"collections":{"Notes":{"rules":{"fly":[]}}}}"#.utf8).write(to: file)
            let wrong = try await martlet("plan", file.path)
            #expect(wrong.status != 0 && wrong.errors.contains("collections.Notes.rules.fly"), "\(wrong)")
        }
    }
}
