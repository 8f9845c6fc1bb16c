import Crypto
import CryptoExtras
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct PasskeyTests {
    @Test func `A passkey can be added to an account, and signs in without name and password`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            var device = SoftPasskey()
            let options = try await client.passkeyOptions(as: tokens)
            #expect(options.header("cache-control") == "no-store")
            #expect(options["rp"] == #"{"id":"example.org","name":"Shop"}"# && options.string("user.name") == "anna")
            #expect(
                options["pubKeyCredParams"]
                    == #"[{"alg":-7,"type":"public-key"},{"alg":-8,"type":"public-key"},{"alg":-257,"type":"public-key"}]"#
            )
            #expect(
                options["excludeCredentials"] == "[]" && options["timeout"] == "300000"
                    && options.string("attestation") == "none")
            #expect(options.string("authenticatorSelection.residentKey") == "required")
            #expect(Base64URL.decode(options.string("challenge") ?? "")?.count == 32)
            // The handle is the user's id and does not reveal a name.
            #expect(
                Base64URL.decode(options.string("user.id") ?? "").map(Array.init)
                    == UUID(uuidString: tokens.userID)?.bytes)

            let added = try await client.send(
                "POST", "me/passkeys", #"{"credential":\#(try device.create(options)),"name":"phone"}"#, as: tokens)
            #expect(added.status == 201 && added.string("name") == "phone" && added["lastUsed"] == "null", "\(added)")
            #expect(
                added["transports"] == #"["hybrid","internal"]"#
                    && added.string("model") == "07070707-0707-0707-0707-070707070707")
            let signedIn = try await client.signIn(by: &device, more: #","device":"phone""#)
            #expect(signedIn.status == 200 && signedIn.header("cache-control") == "no-store", "\(signedIn)")
            #expect(try Tokens(signedIn).userID == tokens.userID)
            let sessions = try await client.send("GET", "sessions", as: try Tokens(signedIn))
            #expect(sessions["data.0.device"] == #""phone""#)
            let list = try await client.send("GET", "me/passkeys", as: tokens)
            #expect(list["count"] == "1" && list["data.0.lastUsed"] != "null", "\(list)")
            // The options list the authenticator's existing passkey.
            let again = try await client.passkeyOptions(as: tokens)
            #expect(again.string("excludeCredentials.0.id") == Base64URL.encode(device.id))
            // Challenges cannot be read from the database.
            let stored: [Data] = try await client.auth.postgres.query("SELECT sha256 FROM auth.passkey_challenges").map
            { try $0.decode(0) }
            #expect(
                stored == [Data(SHA256.hash(data: try #require(Base64URL.decode(again.string("challenge") ?? ""))))])
        }
    }

    @Test func `All three algorithms can sign in, and self attestation is verified`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            let keys: [SoftPasskey.Key] = [
                .es256(P256.Signing.PrivateKey()), .edDSA(Curve25519.Signing.PrivateKey()),
                .rs256(try _RSA.Signing.PrivateKey(keySize: .bits2048)),
            ]
            for key in keys {
                for format in ["none", "packed self"] {
                    var device = SoftPasskey(key: key)
                    device.format = format
                    let added = try await client.addPasskey(&device, as: tokens)
                    #expect(added.status == 201, "\(added)")
                    for _ in 0..<3 { #expect(try await client.signIn(by: &device).status == 200) }
                    let wrong = try device.get(try await client.signInOptions()) { Data($0.reversed()) }
                    #expect(try await client.signIn(wrong).isProblem(.signInFailed))
                }
            }
        }
    }

    @Test func `An unused attestation is treated as none`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            var device = SoftPasskey()
            device.format = "packed"
            // The statement has a certificate, whose chain is not verified.
            device.statement =
                Data([0xa3]) + CBORWriter.text("alg") + CBORWriter.int(-7) + CBORWriter.text("sig")
                + CBORWriter.bytes([1]) + CBORWriter.text("x5c") + Data([0x81]) + CBORWriter.bytes([2])
            #expect(try await client.addPasskey(&device, as: tokens).status == 201)
        }
    }

    @Test func `A user can sign up with only a passkey`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            let options = try await client.send(
                "POST", "passkeys/signup/options", #"{"userName":"anna","email":"anna@example.org"}"#)
            #expect(
                options.status == 200 && options.string("user.name") == "anna" && options["excludeCredentials"] == "[]",
                "\(options)")
            let credential = try device.create(options)
            let body =
                #"{"userName":"anna","email":"anna@example.org","credential":\#(credential),"name":"laptop","profile":{"a":1},"device":"d"}"#
            let made = try await client.send("POST", "passkeys/signup", body)
            #expect(
                made.status == 201 && made["user.isAnonymous"] == "false" && made["user.profile.a"] == "1", "\(made)")
            #expect(made["user.emailVerified"] == "false")
            let tokens = try Tokens(made)
            #expect(
                Base64URL.decode(options.string("user.id") ?? "").map(Array.init)
                    == UUID(uuidString: tokens.userID)?.bytes)
            #expect(try await client.signIn(by: &device).string("user.id") == tokens.userID)
            // There is no password, so no password signs the user in.
            #expect(try await client.logIn().isProblem(.signInFailed))
            // The challenge is used up.
            let again = try await client.send("POST", "passkeys/signup", body.replacing("anna", with: "berta"))
            #expect(again.isProblem(.invalidBody, field: "credential"), "\(again)")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)
        }
    }

    @Test func `If addresses must be verified, signing up with a passkey does not sign in yet`() async throws {
        try await UserClient.runWithPasskeys { client in
            #expect(try await client.master("PUT", "settings", #"{"requireVerifiedEmail":true}"#).status == 200)
            var device = SoftPasskey()
            let options = try await client.send(
                "POST", "passkeys/signup/options", #"{"userName":"anna","email":"anna@example.org"}"#)
            let credential = try device.create(options)
            let nameOnly = try await client.send(
                "POST", "passkeys/signup", #"{"userName":"anna","credential":\#(credential)}"#)
            #expect(nameOnly.isProblem(.invalidBody, field: "email"), "\(nameOnly)")
            let made = try await client.send(
                "POST", "passkeys/signup",
                #"{"userName":"anna","email":"anna@example.org","credential":\#(credential)}"#)
            #expect(
                made.status == 202 && made["accessToken"] == nil && made["user.emailVerified"] == "false", "\(made)")
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 0)
            let proof = try device.get(try await client.signInOptions())
            #expect(try await client.signIn(proof).isProblem(.forbidden))
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 0)
            try await client.auth.postgres.execute("UPDATE auth.users SET email_verified = TRUE")
            // The refusal has not used up anything.
            #expect(try await client.signIn(proof).status == 200)
        }
    }

    /// Gateways learn of the end of a session within two seconds; until then its access token is accepted.
    @Test func `An ended session cannot add a passkey, even if it got the options before it ended`() async throws {
        try await UserClient.runWithPasskeys { client in
            let thief = try await client.signUp()
            let owner = try Tokens(try await client.logIn())
            var device = SoftPasskey()
            let credential = try device.create(try await client.passkeyOptions(as: thief))
            let change = #"{"password":"correct horse","newPassword":"another horse"}"#
            #expect(try await client.send("PUT", "me/password", change, as: owner).status == 204)
            let added = try await client.send("POST", "me/passkeys", #"{"credential":\#(credential)}"#, as: thief)
            #expect(added.isProblem(.invalidToken), "\(added)")
            #expect(try await client.count("SELECT count(*) FROM auth.passkeys") == 0)
        }
    }

    @Test func `A name in use is reported only at the end, and the new passkey then works with another name`()
        async throws
    {
        try await UserClient.runWithPasskeys { client in
            _ = try await client.signUp("anna")
            var device = SoftPasskey()
            let options = try await client.send("POST", "passkeys/signup/options", #"{"userName":"anna"}"#)
            #expect(options.status == 200)
            let credential = try device.create(options)
            let taken = try await client.send(
                "POST", "passkeys/signup", #"{"userName":"anna","credential":\#(credential)}"#)
            #expect(taken.isProblem(.conflict, field: "userName"), "\(taken)")
            #expect(try await client.count("SELECT count(*) FROM auth.passkeys") == 0)
            let made = try await client.send(
                "POST", "passkeys/signup", #"{"userName":"anne","credential":\#(credential)}"#)
            #expect(made.status == 201, "\(made)")
        }
    }

    @Test func `An anonymous user who adds a passkey becomes a regular user`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try Tokens(try await client.send("POST", "anonymous"))
            var device = SoftPasskey()
            #expect(try await client.addPasskey(&device, as: tokens, "{}").status == 201)
            #expect(try await client.send("GET", "me", as: tokens)["isAnonymous"] == "false")
            #expect(try await client.signIn(by: &device).string("user.id") == tokens.userID)
            // The user may add a name and a password to the passkey.
            let upgrade = try await client.send(
                "POST", "me/upgrade", #"{"userName":"anna","password":"correct horse"}"#, as: tokens)
            #expect(upgrade.status == 200, "\(upgrade)")
            #expect(try await client.logIn().string("user.id") == tokens.userID)
        }
    }

    @Test func `A passkey is one factor without user verification, and two with it`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            let secret = try await client.addSecondFactor(as: tokens)
            var device = SoftPasskey()
            // A passkey would sign in without a code, so adding it requires one.
            let refused = try await client.send(
                "POST", "me/passkeys/options", #"{"password":"correct horse"}"#, as: tokens)
            #expect(refused.isProblem(.secondFactorRequired), "\(refused)")
            let wrong = try await client.send(
                "POST", "me/passkeys/options", #"{"password":"correct horse","code":"000000"}"#, as: tokens)
            #expect(wrong.isProblem(.signInFailed), "\(wrong)")
            let code = secret.recoveryCodes[0]
            #expect(
                try await client.addPasskey(&device, as: tokens, #"{"password":"correct horse","code":"\#(code)"}"#)
                    .status == 201)

            #expect(try await client.signIn(by: &device).status == 200)
            device.flags = 1
            let credential = try device.get(try await client.signInOptions())
            #expect(try await client.signIn(credential).isProblem(.secondFactorRequired))
            // Asking for the code has not used up the proof.
            let done = try await client.signIn(credential, more: #","code":"\#(secret.recoveryCodes[1])""#)
            #expect(done.status == 200, "\(done)")
            // The same proof with another code fails, and the code is not checked.
            let replayed = try await client.signIn(credential, more: #","code":"\#(secret.recoveryCodes[2])""#)
            #expect(replayed.isProblem(.signInFailed), "\(replayed)")
            #expect(try await client.count("SELECT count(*) FROM auth.recovery_codes") == 8)
        }
    }

    @Test func `Passkeys can be renamed, and adding and deleting one needs the password`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            let other = try await client.signUp("berta")
            var device = SoftPasskey()
            let id = try #require(try await client.addPasskey(&device, as: tokens).string("id"))
            let renamed = try await client.send("PATCH", "me/passkeys/\(id)", #"{"name":"old phone"}"#, as: tokens)
            #expect(renamed.status == 200 && renamed.string("name") == "old phone", "\(renamed)")
            let long = String(repeating: "x", count: 101)
            #expect(
                try await client.send("PATCH", "me/passkeys/\(id)", #"{"name":"\#(long)"}"#, as: tokens).isProblem(
                    .invalidBody, field: "name"))
            #expect(
                try await client.send("PATCH", "me/passkeys/\(id)", "{}", as: tokens).isProblem(
                    .invalidBody, field: "name"))
            // Another user's passkey.
            #expect(
                try await client.send("PATCH", "me/passkeys/\(id)", #"{"name":"x"}"#, as: other).isProblem(
                    .passkeyNotFound))
            let password = #"{"password":"correct horse"}"#
            #expect(
                try await client.send("DELETE", "me/passkeys/\(id)", password, as: other).isProblem(.passkeyNotFound))
            #expect(try await client.send("DELETE", "me/passkeys/x", password, as: tokens).isProblem(.passkeyNotFound))
            #expect(
                try await client.send("DELETE", "me/passkeys/\(id)", as: tokens).isProblem(
                    .invalidBody, field: "password"))
            #expect(
                try await client.send("DELETE", "me/passkeys/\(id)", #"{"password":"wrong horse"}"#, as: tokens)
                    .isProblem(.signInFailed))
            #expect(
                try await client.send("POST", "me/passkeys/options", "{}", as: tokens).isProblem(
                    .invalidBody, field: "password"))
            #expect(try await client.signIn(by: &device).status == 200)
            #expect(try await client.send("DELETE", "me/passkeys/\(id)", password, as: tokens).status == 204)
            #expect(try await client.signIn(by: &device).isProblem(.signInFailed))
        }
    }

    @Test func `The last way to sign in stays, even if two are removed at once`() async throws {
        try await UserClient.runWithPasskeys { client in
            var (first, second) = (SoftPasskey(), SoftPasskey())
            let tokens = try await client.signUp(by: &first)
            #expect(try await client.addPasskey(&second, as: tokens, "{}").status == 201)
            let list = try await client.send("GET", "me/passkeys", as: tokens)
            let ids = try [#require(list.string("data.0.id")), #require(list.string("data.1.id"))]
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for id in ids {
                    group.addTask { try await client.send("DELETE", "me/passkeys/\(id)", as: tokens).status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [204, 409])
            // With a password the other one can be removed.
            #expect(
                try await client.send(
                    "POST", "me/upgrade", #"{"userName":"anna","password":"correct horse"}"#, as: tokens
                ).status == 200)
            #expect(try await client.logIn().status == 200)
            let left = try #require(try await client.send("GET", "me/passkeys", as: tokens).string("data.0.id"))
            #expect(
                try await client.send("DELETE", "me/passkeys/\(left)", #"{"password":"correct horse"}"#, as: tokens)
                    .status == 204)
        }
    }

    @Test func `A user without a password needs a fresh sign-in for sensitive calls`()
        async throws
    {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            let old = try await client.signUp(by: &device)
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.sessions SET created = now() - interval '11 minutes'")
            let id = try #require(try await client.send("GET", "me/passkeys", as: old).string("data.0.id"))
            for (method, path, body) in [
                ("POST", "me/passkeys/options", "{}"), ("DELETE", "me/passkeys/\(id)", "{}"),
                ("POST", "me/upgrade", #"{"userName":"anna","password":"correct horse"}"#),
                ("PATCH", "me", #"{"userName":"berta"}"#), ("DELETE", "me", "{}"),
            ] {
                let refused = try await client.send(method, path, body, as: old)
                #expect(refused.isProblem(.recentSignInRequired), "\(method) \(path): \(refused)")
            }
            let new = try Tokens(try await client.signIn(by: &device))
            #expect(try await client.send("PATCH", "me", #"{"userName":"berta"}"#, as: new).status == 200)
            // Refreshing does not count as signing in.
            #expect(try Tokens(try await client.refresh(old.refresh)).sessionID == old.sessionID)
            #expect(try await client.send("DELETE", "me", "{}", as: old).isProblem(.recentSignInRequired))
            #expect(try await client.send("DELETE", "me", "{}", as: new).status == 202)
            #expect(try await client.count("SELECT count(*) FROM auth.passkeys") == 0)
        }
    }

    @Test func `The app's server can remove all passkeys of a user`() async throws {
        try await UserClient.runWithPasskeys { client in
            var (device, others) = (SoftPasskey(), SoftPasskey())
            let tokens = try await client.signUp(by: &device)
            _ = try await client.signUp("berta", by: &others)
            #expect(
                try await client.send("DELETE", "users/\(tokens.userID)/passkeys", as: tokens).isProblem(.forbidden))
            #expect(try await client.master("DELETE", "users/\(UUID())/passkeys").isProblem(.userNotFound))
            var test = client
            test.environment = .test
            #expect(try await test.master("DELETE", "users/\(tokens.userID)/passkeys").isProblem(.userNotFound))
            #expect(try await client.master("DELETE", "users/\(tokens.userID)/passkeys").status == 204)
            #expect(try await client.signIn(by: &device).isProblem(.signInFailed))
            #expect(try await client.signIn(by: &others).status == 200)
            #expect(
                try await client.master("PATCH", "users/\(tokens.userID)", #"{"password":"correct horse"}"#).status
                    == 200)
            #expect(try await client.logIn().string("user.id") == tokens.userID)
        }
    }

    @Test func `A user has at most twenty passkeys, even if they are added at once`() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            let credentials = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var device = SoftPasskey()
                        return try device.create(try await client.passkeyOptions(as: tokens))
                    }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            _ = try await client.auth.postgres.execute(
                """
                INSERT INTO auth.passkeys (id, user_id, app_id, environment, credential_id, public_key, sign_count, backed_up, model, transports)
                SELECT gen_random_uuid(), id, app_id, environment, sha256(n::text::bytea), sha256(''), 0, FALSE, gen_random_uuid(), '{}'
                FROM auth.users, generate_series(1, 18) AS n
                """)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for credential in credentials {
                    group.addTask {
                        try await client.send("POST", "me/passkeys", #"{"credential":\#(credential)}"#, as: tokens)
                            .status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201, 201, 409, 409])
        }
    }

    @Test("PyPI's soft-webauthn registers and signs in", .enabled(if: ForeignPasskeyDevice.python != nil))
    func foreignDevice() async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            let device = try ForeignPasskeyDevice()
            let origin = "https://example.org"
            let made = try device.do("create", try await client.passkeyOptions(as: tokens), origin: origin)
            let added = try await client.send("POST", "me/passkeys", #"{"credential":\#(made)}"#, as: tokens)
            #expect(added.status == 201, "\(added)")
            for _ in 0..<2 {
                let signedIn = try await client.signIn(
                    try device.do("get", try await client.signInOptions(), origin: origin))
                #expect(signedIn.status == 200 && signedIn.string("user.id") == tokens.userID, "\(signedIn)")
            }
            let elsewhere = try device.do("get", try await client.signInOptions(), origin: "https://example.com")
            #expect(try await client.signIn(elsewhere).isProblem(.signInFailed))

            let newcomer = try ForeignPasskeyDevice()
            let options = try await client.send("POST", "passkeys/signup/options", #"{"email":"berta@example.org"}"#)
            let credential = try newcomer.do("create", options, origin: origin)
            let signedUp = try await client.send(
                "POST", "passkeys/signup", #"{"email":"berta@example.org","credential":\#(credential)}"#)
            #expect(signedUp.status == 201, "\(signedUp)")
            let again = try await client.signIn(
                try newcomer.do("get", try await client.signInOptions(), origin: origin))
            #expect(again.string("user.email") == "berta@example.org", "\(again)")
        }
    }
}

extension UserClient {
    /// Enables an authenticator app.
    func addSecondFactor(as tokens: Tokens) async throws -> (secret: String, recoveryCodes: [String]) {
        let secret = try #require(
            try await send("POST", "me/totp", #"{"password":"correct horse"}"#, as: tokens).string("secret"))
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = secret.flatMap { character in
            (0..<5).reversed().map { (digits.firstIndex(of: character) ?? 0) >> $0 & 1 }
        }
        let key = Data(
            stride(from: 0, to: bits.count / 8 * 8, by: 8).map { start in
                bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | UInt8($1) }
            })
        let code = OneTimePassword.code(secret: key, counter: Int64(Date().timeIntervalSince1970) / 30)
        let confirmed = try await send("POST", "me/totp/confirm", #"{"code":"\#(code)"}"#, as: tokens)
        try #require(confirmed.status == 200, "\(confirmed)")
        return (secret, try (0..<10).map { try #require(confirmed.string("recoveryCodes.\($0)")) })
    }
}
