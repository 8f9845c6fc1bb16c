import Foundation
import MartletAPI
import MartletCore
import Testing

extension IntegrationTests {
    /// Third-party applications that sign in the users of an app.
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

        private static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap {
            $0.isEmpty ? nil : $0
        }

        /// Signs a user in with a third-party program in Python.
        ///
        /// - Returns: The user's id.
        private func signIn(by script: String) async throws -> String {
            let python = try #require(Self.python)
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Support/\(script)")
            let (output, errors) = (
                server.folder.appending(path: script + ".out"), server.folder.appending(path: script + ".err")
            )
            let program = try RunningProgram.start(
                [
                    python, file.path, server.connection.oidcIssuer, "\(client.url)/api/\(client.appKey)",
                    server.connection.masterKey, server.connection.secret,
                ],
                environment: [
                    "PATH": "/usr/bin:/bin", "AUTHLIB_INSECURE_TRANSPORT": "1", "OAUTHLIB_INSECURE_TRANSPORT": "1",
                ],
                output: output, errors: errors)
            let status = try await program.exitStatus()
            let trouble = try String(contentsOf: errors, encoding: .utf8)
            try #require(status == 0, "\(trouble)")
            let text = try String(contentsOf: output, encoding: .utf8)
            guard case .string(let user)? = try JSONValue(parsing: text.utf8)["user"] else {
                throw Trouble("no user in \(text)")
            }
            return user
        }

        @Test(.enabled(if: python != nil))
        func `authlib and requests-oauthlib can sign users in`() async throws {
            let user = try await signIn(by: "oidc_client.py")
            let grants = try await master.adding(HeaderName.user, user).get("auth/me/grants")
            #expect(grants.status == 200 && grants["count"] == "4", "\(grants)")
        }

        @Test(.enabled(if: python != nil))
        func `idpyoidc, which requires RS256, can sign users in, who give consent once`() async throws {
            let user = try await signIn(by: "idpyoidc_client.py")
            let grants = try await master.adding(HeaderName.user, user).get("auth/me/grants")
            #expect(grants.status == 200 && grants["count"] == "1", "\(grants)")
        }

        @Test func `An ID token gives no access to the app, whatever its algorithm, and a forged one is refused`()
            async throws
        {
            let keys = try await Client.send("GET", server.connection.oidcIssuer + "/jwks")
            guard case .array(let published)? = keys.json?["keys"] else { throw Trouble("no keys in \(keys)") }
            #expect(published.map { $0["alg"] } == [.string("RS256"), .string("ES256")], "\(keys)")
            // The keys for an app's own server are only those of access tokens.
            let own = try await Client(url: client.url, appKey: client.appKey, headers: [:]).get("auth/jwks")
            #expect(own["keys.0.alg"] == #""ES256""# && own["keys.1.alg"] != #""RS256""#, "\(own)")
            let claims =
                #"{"aud":"\#(server.connection.appId)","env":"live","sub":"x","sid":"x","iat":1,"exp":9999999999}"#
            for key in published {
                guard case .string(let id)? = key["kid"] else { throw Trouble("no kid") }
                for algorithm in ["RS256", "ES256", "HS256", "none"] {
                    for type in ["at+jwt", "JWT", "staff+jwt"] {
                        let header = #"{"alg":"\#(algorithm)","kid":"\#(id)","typ":"\#(type)"}"#
                        let text =
                            Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8) + "."
                            + Base64URL.encode(key.text.utf8)
                        let answer = try await client.adding("authorization", "Bearer \(text)").get("storage/Notes")
                        #expect(answer.isProblem(.invalidToken), "\(header): \(answer)")
                    }
                }
            }
        }

        @Test func `The provider is where connection.json says, and its route gives access to nothing else`()
            async throws
        {
            let issuer = server.connection.oidcIssuer
            #expect(issuer == "\(client.url)/oidc/\(server.connection.appId)")
            func get(_ address: String) async throws -> Reply { try await Client.send("GET", address) }
            let metadata = try await get(issuer + "/.well-known/openid-configuration")
            #expect(metadata.status == 200 && metadata.string("issuer") == issuer, "\(metadata)")
            #expect(
                try await get(issuer + "-test/.well-known/openid-configuration").string("issuer") == issuer + "-test")
            #expect(try await get("\(client.url)/oidc/nobody/jwks").status == 404)
            for path in ["../../internal/keyring", "%2e%2e/%2e%2e/internal/keyring", "..%2f..%2finternal/keyring"] {
                #expect(try await get(issuer + "/" + path).status >= 400)
            }
            // Only the gateway creates principals.
            let auth = try #require(server.connection.services["auth"])
            #expect(try await get(auth + "/oidc/\(server.connection.appId)/jwks").isRefusal(.unauthorized))
        }
    }
}
