import Crypto
import CryptoExtras
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct TokenTests {
    @Test func `A code is exchanged for tokens, and the ID token has the right claims`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            let before = Int64(Date().timeIntervalSince1970)
            let answer = try await provider.exchange(try await provider.code())
            #expect(answer.status == 200 && answer.header("cache-control") == "no-store", "\(answer)")
            #expect(
                answer.string("token_type") == "Bearer" && answer["expires_in"] == "900"
                    && answer.string("scope") == "openid profile email offline_access")
            let tokens = try ProviderAnswer(answer)
            let token = try await verified(try #require(tokens.id), provider)
            #expect(
                token.iss == provider.issuer && token.sub == anna.userID && token.aud == provider.client.id
                    && token.nonce == "n-1")
            #expect(token.at_hash == IDToken.hash(tokens.access) && token.exp == token.iat + 900 && token.iat >= before)
            #expect((before - 1...token.iat).contains(token.auth_time))
            let list = try await provider.users.send("GET", "sessions", as: anna)
            #expect(list.text.contains(#""device": "Calendar""#) && list.text.contains(token.sid), "\(list)")

            let refreshed = try ProviderAnswer(try await provider.refresh(try #require(tokens.refresh)))
            let second = try await verified(try #require(refreshed.id), provider)
            #expect(
                second.sub == token.sub && second.auth_time == token.auth_time && second.nonce == nil
                    && second.sid == token.sid)
            #expect(second.at_hash == IDToken.hash(refreshed.access) && refreshed.refresh != tokens.refresh)
        }
    }

    @Test func `Each client chooses the algorithm of its ID tokens, independently of others`()
        async throws
    {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            // A client from before there was a choice.
            let old = provider.with(try await TestProvider.makeClient(provider.users, name: "Old"))
            try await provider.users.auth.postgres.execute(
                "UPDATE auth.clients SET id_token_algorithm = DEFAULT WHERE id = \(try #require(UUID(uuidString: old.client.id)))"
            )
            let description = #""name":"Old","redirectUris":["https://calendar.example/back"]"#
            for (provider, algorithm) in [(provider, "RS256"), (old, "ES256")] {
                #expect(
                    try await provider.users.master("GET", "clients/\(provider.client.id)")["idTokenSignedResponseAlg"]
                        == "\"\(algorithm)\"")
                #expect(
                    try await verified(try #require(try await provider.tokens().id), provider, by: algorithm).sub
                        == anna.userID)
            }
            // A description without this member leaves it unchanged.
            let kept = try await old.users.master("PUT", "clients/\(old.client.id)", "{\(description)}")
            #expect(kept.status == 200 && kept["idTokenSignedResponseAlg"] == #""ES256""#, "\(kept)")
            let changed = try await old.users.master(
                "PUT", "clients/\(old.client.id)", #"{\#(description),"idTokenSignedResponseAlg":"RS256"}"#)
            #expect(changed.status == 200 && changed["idTokenSignedResponseAlg"] == #""RS256""#, "\(changed)")
            #expect(try await verified(try #require(try await old.tokens().id), old).sub == anna.userID)
        }
    }

    @Test func `A request for fewer scopes gets fewer`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let plain = try await provider.tokens(["scope": "openid"])
            #expect(plain.refresh == nil && plain.id != nil)
            let info = try await provider.userInfo(plain.access)
            #expect(
                info.status == 200 && info["preferred_username"] == nil && info["email"] == nil && info["sub"] != nil,
                "\(info)")
            let noID = try await provider.tokens(["scope": "email"])
            #expect(noID.id == nil && noID.refresh == nil)
            #expect(try await provider.userInfo(noID.access).isOAuthError("insufficient_scope", status: 403))
            let small = provider.with(
                try await TestProvider.makeClient(provider.users, name: "Small", scopes: ["openid", "profile"]))
            let code = try await small.code()
            #expect(try await small.exchange(code).string("scope") == "openid profile")
        }
    }

    @Test func `A code is valid with its client, its address and its verifier, for a minute`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let code = try await provider.code()
            let other = provider.with(try await TestProvider.makeClient(provider.users, name: "Other"))
            #expect(try await other.exchange(code).isOAuthError("invalid_grant"))
            for changes in [
                ["redirect_uri": "https://calendar.example/"],
                ["code_verifier": String(TestProvider.verifier.reversed())], ["code_verifier": TestProvider.challenge],
                ["code": code + "x"], ["code": "x"],
            ] {
                #expect(try await provider.exchange(code, changes).isOAuthError("invalid_grant"), "\(changes)")
            }
            for missing in ["code", "redirect_uri", "code_verifier"] {
                #expect(try await provider.exchange(code, [missing: ""]).isOAuthError("invalid_request"), "\(missing)")
            }
            #expect(try await provider.users.count("SELECT count(*) FROM auth.client_sessions") == 0)
            try await provider.users.auth.postgres.execute(
                "UPDATE auth.authorization_codes SET expires = now() - interval '1 second'")
            #expect(try await provider.exchange(code).isOAuthError("invalid_grant"))
            try await provider.users.auth.postgres.execute(
                "UPDATE auth.authorization_codes SET expires = now() + interval '1 minute'")
            #expect(try await provider.exchange(code).status == 200)
            let lifetime = try await provider.users.count(
                "SELECT extract(epoch FROM expires - now())::int8 FROM auth.authorization_codes")
            #expect(lifetime <= 60)
        }
    }

    @Test func `A code used twice works once, and its tokens are revoked`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let code = try await provider.code()
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for _ in 0..<6 { group.addTask { try await provider.exchange(code) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(
                answers.filter { $0.status == 200 }.count == 1
                    && answers.filter { $0.isOAuthError("invalid_grant") }.count == 5, "\(answers)")
            let tokens = try ProviderAnswer(try #require(answers.first { $0.status == 200 }))
            #expect(try await provider.userInfo(tokens.access).isOAuthError("invalid_token", status: 401))
            #expect(try await provider.refresh(try #require(tokens.refresh)).isOAuthError("invalid_grant"))
            // Another client cannot use the code, and its attempt reveals nothing.
            let second = try await provider.code()
            let good = try ProviderAnswer(try await provider.exchange(second))
            let other = provider.with(try await TestProvider.makeClient(provider.users, name: "Other"))
            #expect(try await other.exchange(second).isOAuthError("invalid_grant"))
            #expect(try await provider.userInfo(good.access).status == 200)
        }
    }

    @Test func `A reused refresh token ends the session`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let first = try await provider.tokens()
            let token = try #require(first.refresh)
            let second = try ProviderAnswer(try await provider.refresh(token))
            // The answer was lost.
            #expect(try ProviderAnswer(try await provider.refresh(token)).refresh == second.refresh)
            let other = provider.with(try await TestProvider.makeClient(provider.users, name: "Other"))
            #expect(try await other.refresh(try #require(second.refresh)).isOAuthError("invalid_grant"))
            #expect(
                try await provider.post(
                    "token",
                    ["grant_type": "refresh_token", "refresh_token": second.refresh ?? "", "scope": "openid admin"]
                ).status == 200)
            try await provider.users.auth.postgres.execute(
                "UPDATE auth.sessions SET rotated = rotated - interval '11 seconds'")
            #expect(try await provider.refresh(token).isOAuthError("invalid_grant"))
            #expect(try await provider.userInfo(second.access).isOAuthError("invalid_token", status: 401))
            for bad in ["", "x", "mpr_x", first.access, "mpa_" + token.dropFirst(4)] {
                #expect(try await provider.refresh(bad).status == 400, "\(bad)")
            }
        }
    }

    @Test func `Clients must authenticate`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let code = try await provider.code()
            let fields = [
                "grant_type": "authorization_code", "code": code, "redirect_uri": provider.client.redirectURI,
                "code_verifier": TestProvider.verifier,
            ]
            let form = ["content-type": "application/x-www-form-urlencoded"]
            func basic(_ text: String) -> [String: String] {
                form.merging(["authorization": "Basic " + Data(text.utf8).base64EncodedString()]) { $1 }
            }
            let (id, secret) = (provider.client.id, try #require(provider.client.secret))
            let other = try await TestProvider.makeClient(provider.users, name: "Other")
            let refused: [([String: String], [String: String])] = [
                (form, [:]), (form, ["client_id": id]), (form, ["client_id": id, "client_secret": "x"]),
                (form, ["client_secret": secret]),
                (basic("\(id):x"), [:]), (basic(id), [:]), (basic("\(id):"), [:]), (basic(":\(secret)"), [:]),
                (basic("\(UUID().uuidString):\(secret)"), [:]),
                (basic("\(other.id):\(secret)"), [:]), (basic("\(id):\(other.secret ?? "")"), [:]),
                (basic("\(id):\(secret)"), ["client_id": other.id]),
                (form.merging(["authorization": "Bearer \(secret)"]) { $1 }, ["client_id": id]),
                (form.merging(["authorization": "Basic %%%"]) { $1 }, [:]),
            ]
            for (headers, more) in refused {
                for endpoint in ["token", "revoke", "introspect"] {
                    let body = FormFields.encode(fields.merging(more) { $1 }.map { ($0.key, $0.value) })
                    let answer = try await provider.visitor.send(
                        "POST", provider.path + "/" + endpoint, body, headers: headers)
                    #expect(
                        answer.isOAuthError("invalid_client", status: 401)
                            && answer.header("www-authenticate")?.hasPrefix("Basic") == true,
                        "\(headers) \(more): \(answer)")
                }
            }
            let both = FormFields.encode(fields.merging(["client_secret": secret]) { $1 }.map { ($0.key, $0.value) })
            #expect(
                try await provider.visitor.send(
                    "POST", provider.path + "/token", both, headers: basic("\(id):\(secret)")
                ).isOAuthError("invalid_request"))
            // A public client has no secret, and an invented one does not help.
            let open = provider.with(try await TestProvider.makeClient(provider.users, name: "Open", type: "public"))
            var pretender = open
            pretender.client.secret = "x"
            let openCode = try await open.code()
            #expect(try await pretender.exchange(openCode).isOAuthError("invalid_client", status: 401))
            #expect(try await open.exchange(openCode).status == 200)
            // Both methods, and an old secret.
            #expect(try await provider.post("token", fields, basic: false).status == 200)
            #expect(try await provider.users.master("POST", "clients/\(id)/secret").status == 200)
            #expect(try await provider.post("introspect", ["token": "x"]).isOAuthError("invalid_client", status: 401))
            // Invalid requests: JSON, an unknown grant, none.
            let fresh = provider.with(try await TestProvider.makeClient(provider.users, name: "Fresh"))
            #expect(try await fresh.post("token", [:]).isOAuthError("invalid_request"))
            for grant in ["password", "client_credentials", "implicit"] {
                #expect(try await fresh.post("token", ["grant_type": grant]).isOAuthError("unsupported_grant_type"))
            }
            #expect(
                try await provider.visitor.send(
                    "POST", provider.path + "/token", "{}", headers: ["content-type": "application/json"]
                ).isOAuthError("invalid_request"))
        }
    }

    /// Each kind of token in place of another.
    @Test func `A token is accepted only for its purpose`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            let tokens = try await provider.tokens()
            let id = try #require(tokens.id)
            for wrong in [id, try #require(tokens.refresh), anna.access, anna.refresh, "", tokens.access + "x", "x"] {
                let answer = try await provider.userInfo(wrong)
                #expect(
                    answer.isOAuthError("invalid_token", status: 401)
                        && answer.header("www-authenticate")?.hasPrefix("Bearer") == true, "\(answer)")
                if wrong != tokens.refresh, !wrong.isEmpty {
                    #expect(try await provider.post("introspect", ["token": wrong])["active"] == "false")
                }
            }
            #expect(
                try await provider.visitor.get(provider.path + "/userinfo").isOAuthError("invalid_token", status: 401))
            // The app's routes do not accept these tokens: neither in the gateway nor for a refresh.
            let ring = try await provider.users.auth.ring(after: 0) { !$0.signingKeys.isEmpty }
            for text in [id, tokens.access, try #require(tokens.refresh)] {
                for key in ring.signingKeys {
                    let verifier = try #require(AccessTokenVerifier(key))
                    #expect(Array(text.utf8).withUnsafeBytes { verifier.token(from: $0) } == nil)
                }
                #expect(try await provider.users.refresh(text).isProblem(.invalidToken))
            }
            let verifier = try #require(ring.signingKeys.first.flatMap { AccessTokenVerifier($0) })
            #expect(Array(anna.access.utf8).withUnsafeBytes { verifier.token(from: $0) } != nil)
            // The tokens are not valid for another client or in another environment.
            var test = provider.users
            test.environment = .test
            #expect(
                try await provider.visitor.send(
                    "GET", provider.path + "-test/userinfo", headers: ["authorization": "Bearer " + tokens.access]
                ).status == 401)
            let other = provider.with(try await TestProvider.makeClient(provider.users, name: "Other"))
            for token in [tokens.access, try #require(tokens.refresh)] {
                let answer = try await other.post("introspect", ["token": token])
                #expect(answer.status == 200 && answer.json == .object([.init("active", .bool(false))]), "\(answer)")
                #expect(try await other.post("revoke", ["token": token]).status == 200)
            }
            #expect(try await provider.userInfo(tokens.access).status == 200)
        }
    }

    @Test func `Scopes determine the claims about a user`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp(
                more: #","email":"anna@example.org","profile":{"name":"Anna Ö","x":1},"private":{"name":"secret"}"#)
            let tokens = try await provider.tokens()
            for method in ["GET", "POST"] {
                let info = try await provider.userInfo(tokens.access, method: method)
                #expect(info.status == 200 && info.header("cache-control") == "no-store", "\(info)")
                #expect(
                    info.string("sub") == anna.userID && info.string("name") == "Anna Ö"
                        && info.string("preferred_username") == "anna")
                #expect(
                    info.string("email") == "anna@example.org" && info["email_verified"] == "false"
                        && info["updated_at"] != nil && !info.text.contains("secret"))
            }
            let byForm = try await provider.visitor.send(
                "POST", provider.path + "/userinfo", "access_token=" + tokens.access,
                headers: ["content-type": "application/x-www-form-urlencoded"])
            #expect(byForm.status == 200)
            let active = try await provider.post(
                "introspect", ["token": tokens.access, "token_type_hint": "access_token"])
            #expect(
                active["active"] == "true" && active.string("sub") == anna.userID && active.string("username") == "anna"
                    && active.string("client_id") == provider.client.id)
            #expect(
                active.string("iss") == provider.issuer && active.string("token_type") == "Bearer"
                    && active["exp"] != nil, "\(active)")
            let refresh = try await provider.post("introspect", ["token": try #require(tokens.refresh)])
            #expect(refresh["active"] == "true" && refresh["token_type"] == nil)
            // A public client cannot authenticate.
            let open = provider.with(try await TestProvider.makeClient(provider.users, name: "Open", type: "public"))
            #expect(
                try await open.post("introspect", ["token": tokens.access]).isOAuthError("invalid_client", status: 401))
            // Tokens lose the scopes that the client may no longer request.
            let body = #"{"name":"Calendar","redirectUris":["https://calendar.example/back"],"scopes":["openid"]}"#
            #expect(try await provider.users.master("PUT", "clients/\(provider.client.id)", body).status == 200)
            let info = try await provider.userInfo(tokens.access)
            #expect(info.json == .object([.init("sub", .string(anna.userID))]), "\(info)")
            #expect(try await provider.post("introspect", ["token": try #require(tokens.refresh)])["active"] == "false")
            #expect(try await provider.refresh(try #require(tokens.refresh)).isOAuthError("invalid_grant"))
        }
    }

    enum End: String, CaseIterable {
        case revokedByAccessToken, revokedByRefreshToken, grantRemoved, clientDeleted, userDisabled, userDeleted,
            passwordChanged, sessionEnded
    }

    @Test(arguments: End.allCases)
    func `When a session ends, its tokens are invalid at once`(_ end: End) async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            let tokens = try await provider.tokens()
            let unused = try await provider.code()
            let (users, client, refresh) = (provider.users, provider.client.id, try #require(tokens.refresh))
            let status =
                switch end {
                case .revokedByAccessToken: try await provider.post("revoke", ["token": tokens.access]).status
                case .revokedByRefreshToken:
                    try await provider.post("revoke", ["token": refresh, "token_type_hint": "refresh_token"]).status
                case .grantRemoved: try await users.send("DELETE", "me/grants/\(client)", as: anna).status
                case .clientDeleted: try await users.master("DELETE", "clients/\(client)").status
                case .userDisabled:
                    try await users.master("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#).status
                case .userDeleted: try await users.master("DELETE", "users/\(anna.userID)").status
                case .passwordChanged:
                    try await users.master("PATCH", "users/\(anna.userID)", #"{"password":"another horse"}"#).status
                case .sessionEnded: try await users.send("DELETE", "sessions", as: anna).status
                }
            #expect([200, 202, 204].contains(status), "\(status)")
            #expect(try await provider.userInfo(tokens.access).isOAuthError("invalid_token", status: 401))
            let refused = try await provider.refresh(refresh)
            if end == .clientDeleted {
                #expect(refused.isOAuthError("invalid_client", status: 401), "\(refused)")
            } else {
                #expect(refused.isOAuthError("invalid_grant"), "\(refused)")
                #expect(try await provider.post("introspect", ["token": tokens.access])["active"] == "false")
                if end != .revokedByAccessToken, end != .revokedByRefreshToken {
                    #expect(try await provider.exchange(unused).isOAuthError("invalid_grant"))
                }
            }
            #expect(
                try await users.count(
                    "SELECT count(*) FROM auth.sessions AS s JOIN auth.client_sessions AS c ON c.session_id = s.id WHERE s.revoked IS NULL"
                ) == 0)
        }
    }

    @Test func `Without offline_access, tokens end with the browser's session`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            let offline = try await provider.tokens()
            var browser = provider.browser()
            let code = try #require(try await browser.signIn(provider.request(["scope": "openid"])).parameters["code"])
            let online = try ProviderAnswer(try await provider.exchange(code))
            #expect(try await provider.userInfo(online.access).status == 200)
            // Signing in again in the same browser creates a new session.
            _ = try await browser.logIn(try await browser.authorize(provider.request(["prompt": "login"])))
            #expect(try await provider.userInfo(online.access).isOAuthError("invalid_token", status: 401))
            #expect(try await provider.userInfo(offline.access).status == 200)
            #expect(try await provider.users.send("GET", "me/grants", as: anna)["count"] == "1")
        }
    }

    @Test func `Users see and revoke their consents`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            #expect(try await provider.users.send("GET", "me/grants", as: anna)["count"] == "0")
            _ = try await provider.code(["scope": "openid"])
            _ = try await provider.code(["scope": "openid email"])
            let list = try await provider.users.send("GET", "me/grants", as: anna)
            #expect(
                list["count"] == "1" && list.string("data.0.client") == provider.client.id
                    && list.string("data.0.name") == "Calendar", "\(list)")
            #expect(
                list["data.0.scopes"] == #"["email", "openid"]"# || list["data.0.scopes"] == #"["email","openid"]"#,
                "\(list)")
            let berta = try await provider.users.signUp("berta")
            #expect(try await provider.users.send("GET", "me/grants", as: berta)["count"] == "0")
            #expect(
                try await provider.users.send("DELETE", "me/grants/\(provider.client.id)", as: berta).isProblem(
                    .notFound))
            #expect(try await provider.users.send("DELETE", "me/grants/x", as: anna).isProblem(.notFound))
            #expect(try await provider.users.send("DELETE", "me/grants/\(provider.client.id)", as: anna).status == 204)
            #expect(
                try await provider.users.send("DELETE", "me/grants/\(provider.client.id)", as: anna).isProblem(
                    .notFound))
            var browser = provider.browser()
            let page = try await browser.logIn(try await browser.authorize(provider.request(["scope": "openid"])))
            #expect(page.text.contains("name=\"decision\""))
        }
    }

    @Test func `Beyond the limit, the longest idle session of a client ends`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            var first: ProviderAnswer?
            for _ in 0...ClientSessionStore.maximumPerUser {
                let code = try #require(try await browser.signIn(provider.request()).parameters["code"])
                let tokens = try ProviderAnswer(try await provider.exchange(code))
                first = first ?? tokens
            }
            #expect(try await provider.userInfo(try #require(first).access).status == 401)
            #expect(
                try await provider.users.count(
                    "SELECT count(*) FROM auth.client_sessions AS c JOIN auth.sessions AS s ON s.id = c.session_id WHERE s.revoked IS NULL"
                ) == 20)
        }
    }

    @Test func `The provider's metadata is correct`() async throws {
        try await TestProvider.run { provider async throws in
            let metadata = try await provider.visitor.get(provider.path + "/.well-known/openid-configuration")
            #expect(metadata.status == 200 && metadata.string("issuer") == provider.issuer)
            #expect(
                try await provider.visitor.get(provider.path + "/.well-known/oauth-authorization-server").text
                    == metadata.text)
            for name in [
                "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "revocation_endpoint",
                "introspection_endpoint", "end_session_endpoint",
            ] {
                let address = try #require(metadata.string(name))
                #expect(address.hasPrefix(provider.issuer + "/"))
                let path = String(address.dropFirst("http://127.0.0.1:8080".count))
                let answers = [try await provider.visitor.get(path), try await provider.visitor.post(path)]
                #expect(answers.contains { $0.status != 404 }, "\(name)")
            }
            let keys = try await provider.visitor.get(provider.path + "/jwks")
            #expect(
                keys["keys.0.alg"] == #""RS256""# && keys["keys.0.kty"] == #""RSA""#
                    && keys["keys.1.alg"] == #""ES256""#, "\(keys)")
            #expect(
                keys["keys.0.use"] == #""sig""# && keys["keys.0.e"] == #""AQAB""#
                    && Base64URL.decode(keys.string("keys.0.n") ?? "")?.count == 256)
            // OpenID Connect Discovery 1.0 §3.
            #expect(metadata["id_token_signing_alg_values_supported"] == #"["RS256","ES256"]"#)
            let test = try await provider.visitor.get(provider.path + "-test/.well-known/openid-configuration")
            #expect(test.string("issuer") == provider.issuer + "-test")
        }
    }

    private struct Claims: Decodable {
        var iss, sub, aud, at_hash, sid: String
        var nonce: String?
        var exp, iat, auth_time: Int64
    }

    /// The claims of an ID token, after verifying its signature with the provider's key for the algorithm.
    private func verified(_ token: String, _ provider: TestProvider, by algorithm: String = "RS256") async throws
        -> Claims
    {
        let parts = token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try JSONValue(parsing: try #require(Base64URL.decode(parts[0])))
        #expect(header["alg"] == .string(algorithm) && header["typ"] == .string("JWT"))
        guard case .array(let keys)? = try await provider.visitor.get(provider.path + "/jwks").json?["keys"],
            let key = keys.first(where: { $0["kid"] == header["kid"] }), key["alg"] == header["alg"]
        else { throw Trouble() }
        func number(_ name: String) throws -> Data {
            guard case .string(let text)? = key[name] else { throw Trouble() }
            return try #require(Base64URL.decode(text))
        }
        let (signed, signature) = (Data("\(parts[0]).\(parts[1])".utf8), try #require(Base64URL.decode(parts[2])))
        if algorithm == "RS256" {
            let key = try _RSA.Signing.PublicKey(n: try number("n"), e: try number("e"))
            #expect(
                key.isValidSignature(
                    _RSA.Signing.RSASignature(rawRepresentation: signature), for: signed, padding: .insecurePKCS1v1_5))
        } else {
            let key = try P256.Signing.PublicKey(rawRepresentation: try number("x") + (try number("y")))
            #expect(key.isValidSignature(try P256.Signing.ECDSASignature(rawRepresentation: signature), for: signed))
        }
        return try JSONDecoder().decode(Claims.self, from: try #require(Base64URL.decode(parts[1])))
    }

    private struct Trouble: Error {}
}
