import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

extension IntegrationTests {
    /// What still works during an outage.
    @Suite(.localServer)
    struct OutageTests {
        let server: LocalServer
        let client: Client
        let stranger: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            stranger = client.adding(HeaderName.secret, "ms_wrong")
        }

        @Test func `reads and writes continue without auth, and keys are checked without PostgreSQL`() async throws {
            #expect(try await client.post("storage/Outage", #"{"_id":"a"}"#).isSuccess)
            try await server.withoutSupervisor {
                try server.signal("auth", SIGKILL)
                for _ in 0..<20 {
                    #expect(try await client.get("storage/Outage/a").status == 200)
                    #expect(try await client.post("storage/Outage", #"{"_id":"a"}"#).status == 200)
                    #expect(try await stranger.get("storage/Outage/a").isProblem(.unauthorized))
                }
                try server.signal("postgres", SIGKILL)
                try await eventually("storage reports the outage") {
                    try await client.get("storage/Outage/a").isProblem(.unavailable)
                }
                #expect(try await stranger.get("storage/Outage/a").isProblem(.unauthorized))
                #expect(try await client.get("collections").isProblem(.forbidden))
                let reply = try await client.get("storage/Outage/a")
                #expect(reply.isProblem(.unavailable) && reply.header("retry-after") != nil, "\(reply)")
            }
            try await eventually("everything has recovered by itself", within: .seconds(180)) {
                guard await server.isEverythingReady() else { return false }
                return try await client.get("storage/Outage/a").status == 200
            }
        }

        @Test func `a gateway that starts while auth is silent uses its copy of the key ring`() async throws {
            #expect(try await client.post("storage/Outage", #"{"_id":"b"}"#).isSuccess)
            let late = try await server.makeKey("secret", "--label", "revoked while auth is silent")
            let leaving = client.adding(HeaderName.secret, late.key)
            try await eventually("the gateway knows the secret") {
                try await leaving.get("storage/Outage/b").status == 200
            }
            // A gateway uses a key ring before it writes it to disk.
            for gateway in Copies.of("gateway") {
                let file = server.state.appending(path: "\(gateway)/keyring.json")
                try await eventually("\(gateway) has saved the secret") {
                    try String(contentsOf: file, encoding: .utf8).contains(Credential.hexDigest(of: late.key))
                }
            }
            try server.signal("auth", SIGSTOP)
            do {
                try await server.restart("gateway")
                #expect(try await client.get("storage/Outage/b").status == 200)
                #expect(try await stranger.get("storage/Outage/b").isProblem(.unauthorized))
                #expect(try await server.martlet("key", "revoke", late.record.id).status == 0)
                #expect(try await leaving.get("storage/Outage/b").status == 200, "the gateway has not heard of it yet")
            } catch {
                try server.signal("auth", SIGCONT)
                throw error
            }
            try server.signal("auth", SIGCONT)
            try await eventually("the gateway learns what it missed", within: .seconds(180)) {
                try await leaving.get("storage/Outage/b").isProblem(.unauthorized)
            }
        }

        @Test func `a silent PostgreSQL causes 503 or 504, and is used again once it responds`() async throws {
            #expect(try await client.post("storage/Outage", #"{"_id":"c"}"#).isSuccess)
            let family = try postgresProcesses()
            for process in family { kill(process, SIGSTOP) }
            defer { for process in family { kill(process, SIGCONT) } }
            async let silent = client.get("storage/Outage/c")
            #expect(try await stranger.get("storage/Outage/c").isProblem(.unauthorized))
            let reply = try await silent
            #expect(reply.isProblem(.unavailable) || reply.isProblem(.upstreamTimeout), "\(reply)")
            for process in family { kill(process, SIGCONT) }
            try await eventually("PostgreSQL is used again", within: .seconds(180)) {
                try await client.get("storage/Outage/c").status == 200
            }
        }

        private func postgresProcesses() throws -> [pid_t] {
            let postmaster = try server.pid(of: "postgres")
            let children = try String(
                contentsOfFile: "/proc/\(postmaster)/task/\(postmaster)/children", encoding: .utf8)
            return [postmaster] + children.split(separator: " ").compactMap { pid_t($0) }
        }
    }
}
