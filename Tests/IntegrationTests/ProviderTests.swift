import Foundation
import MartletAPI
import MartletCore
import Testing

extension IntegrationTests {
    /// Other applications that let the users of an app sign in.
    @Suite(.localServer)
    struct ProviderTests {
        let server: LocalServer
        let client: Client
        let master: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        @Test(.enabled(if: ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"]?.isEmpty == false))
        func `authlib and requests-oauthlib let users sign in`() async throws {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Support/oidc_client.py")
            let program = try RunningProgram.start(
                [python, script.path, server.connection.oidcIssuer, "\(client.url)/api/\(client.appKey)", server.connection.masterKey, server.connection.secret],
                environment: ["PATH": "/usr/bin:/bin", "AUTHLIB_INSECURE_TRANSPORT": "1", "OAUTHLIB_INSECURE_TRANSPORT": "1"],
                output: server.folder.appending(path: "oidc.out"), errors: server.folder.appending(path: "oidc.err"))
            let status = try await program.exitStatus()
            let errors = try String(contentsOf: server.folder.appending(path: "oidc.err"), encoding: .utf8)
            try #require(status == 0, "\(errors)")
            let output = try String(contentsOf: server.folder.appending(path: "oidc.out"), encoding: .utf8)
            guard case .string(let user)? = try JSONValue(parsing: output.utf8)["user"] else { throw Trouble("no user in \(output)") }
            let sessions = try await master.adding(HeaderName.user, user).get("auth/me/grants")
            #expect(sessions.status == 200 && sessions["count"] == "4", "\(sessions)")
        }

        @Test func `The provider is where connection.json says, and its door opens nothing else`() async throws {
            let issuer = server.connection.oidcIssuer
            #expect(issuer == "\(client.url)/oidc/\(server.connection.appId)")
            func get(_ address: String) async throws -> Reply { try await Client.send("GET", address) }
            let metadata = try await get(issuer + "/.well-known/openid-configuration")
            #expect(metadata.status == 200 && metadata.string("issuer") == issuer, "\(metadata)")
            #expect(try await get(issuer + "-test/.well-known/openid-configuration").string("issuer") == issuer + "-test")
            #expect(try await get("\(client.url)/oidc/nobody/jwks").status == 404)
            for path in ["../../internal/keyring", "%2e%2e/%2e%2e/internal/keyring", "..%2f..%2finternal/keyring"] {
                #expect(try await get(issuer + "/" + path).status >= 400)
            }
            // The principal is the gateway's to make.
            let auth = try #require(server.connection.services["auth"])
            #expect(try await get(auth + "/oidc/\(server.connection.appId)/jwks").isRefusal(.unauthorized))
        }
    }
}
