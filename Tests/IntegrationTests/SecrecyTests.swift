import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// Every server of these tests is searched for secrets after it has stopped; this one logs as much as possible.
    struct SecrecyTests {
        @Test func `no log and no trace contains a credential, at any log level and after any failure`() async throws {
            try await TraceCollector.with { collector in
                let environment = ["MARTLET_LOG_LEVEL": "trace"].merging(collector?.environment ?? [:]) { $1 }
                try await LocalServer.with(environment: environment) { server in
                    server.record(secret: TraceCollector.token)
                    try await failInManyWays(server)
                    for name in LocalServer.processNames {
                        #expect(try !server.lines(of: name, containing: "Started.").isEmpty, "\(name) logs")
                    }
                    if let collector { try await checkTraces(collector, server) }
                }
            }
        }

        /// Spans of gateway and service belong to one trace. Their text is searched for secrets with the logs.
        private func checkTraces(_ collector: TraceCollector, _ server: LocalServer) async throws {
            try await eventually("a request of a client has a span of the gateway and one of storage below it") {
                let spans = collector.spans
                let route = "POST /api/{appKey}/storage/**"
                let ofGateway = spans.filter { $0.process == "martlet-gateway" && $0.name == route }
                let parents = Set(ofGateway.filter { $0.parent == "-" }.map { [$0.trace, $0.id] })
                return spans.contains { $0.process == "martlet-storage" && parents.contains([$0.trace, $0.parent]) }
            }
            #expect(!collector.spans.contains { $0.process == "refused" }, "\(collector.errors.suffix(4_000))")
            try collector.copyBodies(to: server.state.appending(path: "log/traces.json"))
        }

        private func failInManyWays(_ server: LocalServer) async throws {
            let (client, master) = (Client(server.connection), Client.master(server.connection))
            let connection = server.connection
            _ = try await server.makeKey("secret")
            for client in [client, master, client.adding(HeaderName.environment, "test")] {
                _ = try await client.post("storage/Notes", #"{"_id":"a"}"#)
                _ = try await client.post("storage/query/Notes", #"{"a":{"$regexx":1}}"#)
                _ = try await client.get("collections")
                _ = try await client.get("nowhere")
                _ = try await client.get("storage/a%2fb")
            }
            // Keys in the wrong places.
            for path in [
                "/\(connection.appKey)", "/api/\(connection.secret)/storage/Notes", "/?secret=\(connection.secret)",
            ] {
                _ = try await Client.send(
                    "GET", connection.url + path, headers: ["authorization": "Bearer \(connection.evaluationKey)"])
            }
            _ = try await client.get("storage/\(connection.secret)?nonsense=\(connection.masterKey)")
            let storage = try #require(connection.services["storage"])
            _ = try await Client.send(
                "GET", "\(storage)/collections?key=\(connection.secret)",
                headers: [HeaderName.principal: connection.masterKey])
            for name in ["storage", "auth", "gateway"] { try await server.restart(name) }
            try await server.withoutSupervisor {
                try server.signal("postgres", SIGKILL)
                for _ in 0..<3 { _ = try await client.post("storage/Notes", #"{"_id":"a"}"#) }
            }
            try await eventually("storage answers again", within: .seconds(180)) {
                try await client.get("storage/Notes/a").status == 200
            }
        }
    }
}
