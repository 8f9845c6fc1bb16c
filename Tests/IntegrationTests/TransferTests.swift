import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    @Suite(.localServer)
    struct TransferTests {
        let client: Client
        let master: Client

        init() throws {
            let server = try LocalServer.current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        private func finished(_ reply: Reply) async throws -> Reply {
            #expect(reply.status == 202, "\(reply)")
            let id = try #require(reply.string("id"))
            return try await eventually("job \(id) is finished") {
                let job = try await master.get("jobs/\(id)")
                return job["finished"] != "null" ? job : nil
            }
        }

        @Test func `a file is imported, exported, exported by a job, and copied to test, through the gateway`()
            async throws
        {
            // More than the gateway accepts for other calls.
            let count = 3_000
            let text = String(repeating: "x", count: 900)
            let file =
                (0..<count).map { #"{"_id":"o\#($0)","n":\#($0),"t":"\#(text)"}"# }.joined(separator: "\n") + "\n"
            let job = try await finished(master.post("imports/Moved?format=jsonl", file))
            #expect(job.string("state") == "done" && job["result.created"] == "\(count)", "\(job)")
            #expect(try await client.get("storage/Moved/o77")["n"] == "77")

            let export = try await master.get("exports/Moved?format=csv")
            #expect(export.status == 200 && export.text.utf8.count > 900 * count)
            let again = try await finished(master.post("imports/Again?format=csv", export.text))
            #expect(again.string("state") == "done" && again["result.created"] == "\(count)", "\(again)")

            let written = try await finished(master.post("exports/Again?format=csv", ""))
            let id = try #require(written.string("id"))
            #expect(try await master.get("jobs/\(id)/result").text == export.text)

            let copied = try await finished(master.post("environment/copy", ""))
            #expect(copied.string("state") == "done", "\(copied)")
            let test = client.adding(HeaderName.environment, "test")
            #expect(try await test.get("storage/Moved/o77").isProblem(.forbidden))
            #expect(
                try await master.adding(HeaderName.environment, "test").send("PUT", "environment", #"{"open":true}"#)
                    .isProblem(.forbidden))
            #expect(try await master.send("PUT", "environment", #"{"open":true}"#).status == 200)
            try await eventually("the environment is open") { try await test.get("storage/Moved/o77")["n"] == "77" }
            #expect(try await master.send("DELETE", "environment").status == 204)
            #expect(try await test.get("storage/Moved/o77").isProblem(.objectNotFound))
            #expect(try await client.get("storage/Moved/o77")["n"] == "77")
        }

        @Test func `without the master key all of this is refused`() async throws {
            for (method, path) in [
                ("POST", "imports/X?format=json"), ("GET", "exports/X?format=json"), ("GET", "jobs"),
                ("DELETE", "environment"),
            ] {
                #expect(try await client.send(method, path, method == "POST" ? "[]" : nil).isProblem, "\(path)")
            }
            #expect(try await master.post("imports/X?format=xml", "[]").isProblem(.invalidParameter))
            #expect(try await master.get("jobs/0190c2a4-0000-7000-8000-000000000000").isProblem(.jobNotFound))
        }
    }
}
