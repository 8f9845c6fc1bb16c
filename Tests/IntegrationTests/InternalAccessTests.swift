import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

extension IntegrationTests {
    /// Internal calls can be neither reached nor forged from outside.
    @Suite(.localServer)
    struct InternalAccessTests {
        let server: LocalServer
        let connection: Connection

        init() throws {
            server = try .current
            connection = server.connection
        }

        @Test func `a principal sent by a client is ignored, even if it is signed with the internal secret`()
            async throws
        {
            let other = try await server.makeApp("Victim")
            let victim = server.client(other)
            try await eventually("the gateway knows the app") {
                try await victim.post("storage/Private", #"{"_id":"x"}"#).isSuccess
            }
            for secret in [try internalSecret(), Secret(String(repeating: "z", count: 43))] {
                let header = try signed(for: other.appId, by: secret, at: Date())
                let client = Client(connection).adding(HeaderName.principal, header)
                let reply = try await client.get("storage/Private")
                #expect(
                    reply.status == 200 && reply["count"] == "0",
                    "the answer must come from the client's own app: \(reply)")
                let keyless = Client(
                    url: connection.url, appKey: connection.appKey, headers: [HeaderName.principal: header])
                #expect(try await keyless.get("storage/Private").isProblem(.unauthorized))
            }
        }

        @Test(arguments: [
            ("auth", "/internal/keyring"), ("storage", "/collections"), ("storage", "/storage/Notes"),
            ("config", "/anything"),
            ("analytics", "/anything"), ("notifications", "/anything"), ("auth", "/anything"), ("storage", "/metrics"),
        ])
        func `a service answers 401 on its own port without a fresh and genuine principal`(
            service: String, path: String
        ) async throws {
            let address = try #require(connection.services[service]) + path
            let genuine = try internalSecret()
            let now = Date()
            let headers: [String?] = [
                nil, "", "e30.e30",
                try signed(for: connection.appId, by: Secret(String(repeating: "z", count: 43)), at: now),
                try signed(for: connection.appId, by: genuine, at: now - 600),
                try signed(for: connection.appId, by: genuine, at: now + 600),
            ]
            for header in headers {
                let reply = try await Client.send(
                    "GET", address, headers: header.map { [HeaderName.principal: $0] } ?? [:])
                #expect(reply.isRefusal(.unauthorized), "\(header ?? "no header"): \(reply)")
            }
        }

        @Test func `an app's principal cannot use the gateway's routes`() async throws {
            let header = try signed(for: connection.appId, by: try internalSecret(), at: Date())
            var calls = [
                ("auth", "GET", "/internal/keyring"), ("auth", "POST", "/internal/credentials/used"),
                ("auth", "POST", "/internal/staff/names"), ("auth", "POST", "/internal/status"),
                ("notifications", "POST", "/internal/users/sign-out"),
                ("notifications", "POST", "/internal/notifications/mail"),
                ("notifications", "POST", "/internal/mail/returned"),
            ]
            for service in connection.services.keys where !service.hasPrefix("gateway") {
                calls += ["erase", "export"].map { (service, "POST", "/internal/users/" + $0) }
            }
            for (service, method, path) in calls {
                let address = try #require(connection.services[service])
                let reply = try await Client.send(
                    method, address + path, headers: [HeaderName.principal: header], method == "POST" ? "{}" : nil)
                #expect(reply.isRefusal(.forbidden), "\(service) \(path) \(reply)")
            }
        }

        @Test(arguments: [
            "/", "/metrics", "/health/live", "/health/ready", "/internal/keyring", "/internal/credentials/used",
            "/internal/users/erase", "/internal/staff/names", "/storage/Notes",
            "/collections", "/admin",
        ])
        func `the internal paths are not on the public port`(path: String) async throws {
            for headers in [[:], [HeaderName.secret: connection.secret, HeaderName.masterKey: connection.masterKey]] {
                let reply = try await Client.send("GET", connection.url + path, headers: headers)
                #expect(reply.isProblem(.notFound), "\(reply)")
            }
        }

        @Test func `every process serves health and metrics on its internal port`() async throws {
            _ = try await Client(connection).get("storage/Notes")
            for name in LocalServer.processNames {
                let address = try #require(connection.internalServices[name])
                for path in ["/health/live", "/health/ready"] {
                    #expect(try await Client.send("GET", address + path).status == 200, "\(name) \(path)")
                }
                let metrics = try await Client.send("GET", address + "/metrics")
                #expect(metrics.status == 200 && metrics.text.contains("# TYPE "), "\(name)")
            }
        }

        private func internalSecret() throws -> Secret {
            Secret(try #require(try server.environment(of: "storage")["MARTLET_INTERNAL_SECRET"]))
        }

        private func signed(for app: String, by secret: Secret, at time: Date) throws -> String {
            let principal = Principal(
                kind: .master, appID: app, appNumber: 1, environment: .live, credentialID: "forged")
            return try PrincipalSigner(internalSecret: secret).header(for: principal, at: time)
        }
    }
}
