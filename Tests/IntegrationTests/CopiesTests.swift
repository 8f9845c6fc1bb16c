import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

extension IntegrationTests {
    @Suite(.localServer, .oneCopy("starts the second copies itself and counts the requests of each"))
    struct CopiesTests {
        static let readers = 16

        let server: LocalServer

        init() throws { server = try .current }

        @Test func `two storage instances share the work, and losing one fails only the reads in flight`()
            async throws
        {
            let second = try await start("storage", upstreams: [])
            defer { second.stop() }
            let first = try #require(server.connection.services["storage"])
            let front = try await start("gateway", upstreams: [first, second.address])
            defer { front.stop() }
            var client = Client(server.connection)
            client.url = front.address
            #expect(try await client.post("storage/Copies", #"{"_id":"a"}"#).isSuccess)

            let results = LoadResults()
            let reader = client
            try await Load.run(Self.readers) { _, _ in
                _ = await results.record { try await reader.get("storage/Copies/a") }
            } during: {
                let firstInternal = try #require(server.connection.internalServices["storage"])
                for address in [firstInternal, second.internalAddress] {
                    try await eventually("both serve") { try await requestCount(address) > 10 }
                }
                second.program.signal(SIGKILL)
                try await Task.sleep(for: .seconds(3))
            }
            let entries = results.entries
            print("copies: \(entries)")
            #expect(entries.unclean == [] && entries.broken == [:])
            #expect(entries.problems.values.reduce(0, +) <= Self.readers)
        }

        @Test func `rules and roles set through one instance apply in the other at once`() async throws {
            let second = try await start("storage", upstreams: [])
            defer { second.stop() }
            let front = try await start("gateway", upstreams: [second.address])
            defer { front.stop() }
            let master = Client.master(server.connection)
            var other = Client(server.connection)
            other.url = front.address
            var user = Client.master(server.connection).adding(HeaderName.user, "ada")
            user.url = front.address
            #expect(try await master.post("storage/Ruled", #"{"_id":"a","_readers":["role:editors"]}"#).isSuccess)
            #expect(try await other.get("storage/Ruled").status == 200)
            #expect(try await user.get("storage/Ruled/a").status == 404)
            // Cached values are valid for 10 s; the instance was notified well before that.
            #expect(try await master.send("PUT", "roles/editors", #"{"add":["ada"]}"#).isSuccess)
            let (start, limit) = (ContinuousClock.now, Duration.seconds(9))
            try await eventually("the role is in effect", within: limit) {
                try await user.get("storage/Ruled/a").status == 200
            }
            #expect(try await master.send("PUT", "collections/Ruled/rules", #"{"rules":{"find":[]}}"#).isSuccess)
            try await eventually("the rule is in effect", within: limit) {
                try await other.get("storage/Ruled").status == 403
            }
            print("rules and roles in the other copy after \(ContinuousClock.now - start)")
        }

        @Test func `an instance stopped by SIGTERM fails no request`() async throws {
            let second = try await start("storage", upstreams: [])
            defer { second.stop() }
            let first = try #require(server.connection.services["storage"])
            let front = try await start("gateway", upstreams: [first, second.address])
            defer { front.stop() }
            var client = Client(server.connection)
            client.url = front.address
            #expect(try await client.post("storage/Copies", #"{"_id":"a"}"#).isSuccess)
            let results = LoadResults()
            let reader = client
            try await Load.run(Self.readers) { _, _ in
                _ = await results.record { try await reader.get("storage/Copies/a") }
            } during: {
                try await Task.sleep(for: .seconds(1))
                second.program.signal(SIGTERM)
                #expect(try await second.program.exitStatus() == 0)
                try await Task.sleep(for: .seconds(1))
            }
            print("copies, drained: \(results.entries)")
            #expect(results.entries.unclean == [] && results.entries.broken == [:] && results.entries.problems == [:])
        }

        private struct Copy {
            var program: RunningProgram
            var address: String
            var internalAddress: String

            func stop() { program.signal(SIGKILL) }
        }

        /// Starts another process with the environment of the first, on its own ports.
        private func start(_ name: String, upstreams: [String]) async throws -> Copy {
            var environment = try server.environment(of: name)
            let (port, internalPort) = (try FreePort.find(), try FreePort.find())
            environment["MARTLET_HTTP_PORT"] = String(port)
            environment["MARTLET_INTERNAL_PORT"] = String(internalPort)
            // The socket belongs to the first instance.
            environment["MARTLET_HTTP_SOCKET"] = nil
            if !upstreams.isEmpty {
                environment["MARTLET_UPSTREAM_STORAGE"] = upstreams.map { $0.replacing("http://", with: "") }.joined(
                    separator: ",")
                environment["MARTLET_STATE_DIRECTORY"] = server.state.appending(path: "gateway-\(port)").path
            }
            let log = server.state.appending(path: "log/\(name)-\(port).log")
            let program = try RunningProgram.start(
                [try Programs.path(name)], environment: environment, output: log, errors: log)
            let copy = Copy(
                program: program, address: "http://127.0.0.1:\(port)",
                internalAddress: "http://127.0.0.1:\(internalPort)")
            try await eventually("the copy of \(name) is ready") {
                (try? await Client.send("GET", copy.internalAddress + "/health/ready"))?.status == 200
            }
            return copy
        }

        private func requestCount(_ internalAddress: String) async throws -> Int {
            let metrics = try await Client.send("GET", internalAddress + "/metrics").text
            let lines = metrics.split(separator: "\n").filter {
                $0.hasPrefix("martlet_http_requests") && $0.contains(#"status="200""#)
            }
            return lines.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0) { $0 + Int($1) }
        }
    }
}
