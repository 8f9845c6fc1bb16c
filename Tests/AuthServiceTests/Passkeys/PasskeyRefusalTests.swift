import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// Invalid proofs, each with a single fault.
@Suite struct PasskeyRefusalTests {
    struct Tampering: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let apply: @Sendable (inout SoftPasskey) -> Void

        init(_ description: String, _ apply: @escaping @Sendable (inout SoftPasskey) -> Void) {
            testDescription = description
            self.apply = apply
        }
    }

    /// Faults in both ceremonies.
    static let lies = [
        Tampering("another site's origin") { $0.origin = "https://example.com" },
        Tampering("an origin below the relying party that is not listed") { $0.origin = "https://evil.example.org" },
        Tampering("an origin that begins like ours") { $0.origin = "https://example.org.evil.com" },
        Tampering("another port") { $0.origin = "https://example.org:8443" },
        Tampering("no TLS") { $0.origin = "http://example.org" },
        Tampering("the origin's slash") { $0.origin = "https://example.org/" },
        Tampering("another app") { $0.origin = "android:apk-key-hash:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
        Tampering("another relying party") { $0.rpID = "example.com" },
        Tampering("a part of the relying party") { $0.rpID = "shop.example.org" },
        Tampering("nobody there") { $0.flags = 4 },
        Tampering("copied, though it cannot be") { $0.flags = 0x15 },
        Tampering("a frame of another origin") { $0.moreClientData = #","crossOrigin":true"# },
        Tampering("a frame below another page") {
            $0.moreClientData = #","crossOrigin":false,"topOrigin":"https://example.com""#
        },
        Tampering("bytes behind the authenticator data") { $0.trailing = Data([0]) },
        Tampering("extensions announced, and none there") { $0.flags = 0x85 },
        Tampering("extensions that are not a map") { ($0.flags, $0.trailing) = (0x85, Data([0x01])) },
        Tampering("a challenge of nobody") { $0.challenge = Base64URL.encode(Data(repeating: 1, count: 32)) },
        Tampering("a short challenge") { $0.challenge = "AAAA" },
        Tampering("no challenge") { $0.challenge = "" },
        Tampering("client data that is not JSON") { $0.moreClientData = "," },
    ]

    @Test(
        arguments: lies + [
            Tampering("the other ceremony") { $0.type = "webauthn.get" },
            Tampering("another id than the authenticator's") { $0.attestedID = Data(repeating: 9, count: 32) },
            Tampering("a short id") { $0.id = Data(repeating: 9, count: 15) },
            Tampering("a long id") { $0.id = Data(repeating: 9, count: 1_024) },
            Tampering("an attestation of nothing that says something") {
                $0.statement = Data([0xa1]) + CBORWriter.text("sig") + CBORWriter.bytes([1])
            },
            Tampering("an attestation statement that is not a map") { $0.statement = Data([0x80]) },
            Tampering("self attestation without a signature") { $0.format = "packed" },
            Tampering("self attestation with another's signature") { device in
                device.format = "packed"
                device.statement =
                    Data([0xa2]) + CBORWriter.text("alg") + CBORWriter.int(-7) + CBORWriter.text("sig")
                    + CBORWriter.bytes([0x30, 6, 2, 1, 1, 2, 1, 1])
            },
            Tampering("an attestation object as deep as bytes allow") {
                $0.statement = Data(repeating: 0x81, count: 8_000) + [0]
            },
            Tampering("an attestation object that promises much") {
                $0.statement = Data([0x9b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
            },
            Tampering("no public key") { $0.publicKey = Data([0xf6]) },
            Tampering("a point that is not on the curve") { device in
                device.publicKey =
                    Data([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21]) + CBORWriter.bytes([UInt8](repeating: 1, count: 32)) + [
                        0x22
                    ] + CBORWriter.bytes([UInt8](repeating: 1, count: 32))
            },
            Tampering("the point at infinity") { device in
                device.publicKey =
                    Data([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21]) + CBORWriter.bytes([UInt8](repeating: 0, count: 32)) + [
                        0x22
                    ] + CBORWriter.bytes([UInt8](repeating: 0, count: 32))
            },
            Tampering("an algorithm that was not asked for") {
                $0.publicKey = Data([0xa5, 1, 2, 3, 0x38, 0x22, 0x20, 2, 0x21, 0x40, 0x22, 0x40])
            },
            Tampering("an RSA key of 1024 bits") { device in
                device.publicKey =
                    Data([0xa4, 1, 3, 3, 0x39, 1, 0, 0x20]) + CBORWriter.bytes([UInt8](repeating: 0xff, count: 128)) + [
                        0x21
                    ] + CBORWriter.bytes([1, 0, 1])
            },
            Tampering("an RSA key with exponent 1") { device in
                device.publicKey =
                    Data([0xa4, 1, 3, 3, 0x39, 1, 0, 0x20]) + CBORWriter.bytes([UInt8](repeating: 0xff, count: 256)) + [
                        0x21
                    ] + CBORWriter.bytes([1])
            },
        ])
    func `Invalid registrations are refused`(tampering: Tampering) async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            var device = SoftPasskey()
            tampering.apply(&device)
            let answer = try await client.addPasskey(&device, as: tokens)
            #expect(answer.isProblem(.invalidBody, field: "credential"), "\(answer)")
            let signUp = try await client.send("POST", "passkeys/signup/options", #"{"userName":"berta"}"#)
            let other = try await client.send(
                "POST", "passkeys/signup", #"{"userName":"berta","credential":\#(try device.create(signUp))}"#)
            #expect(other.isProblem(.invalidBody, field: "credential"), "\(other)")
            #expect(try await client.count("SELECT count(*) FROM auth.passkeys") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)
        }
    }

    @Test(
        arguments: lies + [
            Tampering("the other ceremony") { $0.type = "webauthn.create" },
            Tampering("a credential's data where none is due") { $0.flags = 0x45 },
            Tampering("another user's handle") { $0.userHandle = Data(repeating: 1, count: 16) },
            Tampering("another key") { $0.key = .es256(P256.Signing.PrivateKey()) },
            Tampering("an unknown passkey") { $0.id = Data(repeating: 9, count: 32) },
        ])
    func `Invalid sign-ins are refused`(tampering: Tampering) async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            _ = try await client.signUp(by: &device)
            tampering.apply(&device)
            let answer = try await client.signIn(by: &device)
            // The same text for every fault.
            let detail =
                "This passkey could not be used to sign in; request new options and try again, or sign in another way."
            #expect(answer.isProblem(.signInFailed) && answer.string("detail") == detail, "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 1)
        }
    }

    @Test(arguments: [
        "null", "7", "{}", #"{"id":"AAAA","type":"public-key","response":{}}"#, #"{"id":7}"#, "[]",
        #"{"id":"AAAAAAAAAAAAAAAAAAAAAA","type":"password","response":{"clientDataJSON":"AAAA"}}"#,
        #"{"id":"AAAAAAAAAAAAAAAAAAAAAA==","type":"public-key","response":{"clientDataJSON":"AAAA"}}"#,
        #"{"id":"AAAAAAAAAAAAAAAAAAAAAB","type":"public-key","response":{"clientDataJSON":"AAAA"}}"#,
        #"{"id":"AAAAAAAAAAAAAAAAAAAAAA","rawId":"AAAAAAAAAAAAAAAAAAAAAQ","type":"public-key","response":{"clientDataJSON":"AAAA"}}"#,
        #"{"id":"AAAAAAAAAAAAAAAAAAAAAA","type":"public-key","response":{"clientDataJSON":"A+/="}}"#,
        #"{"id":"AAAAAAAAAAAAAAAAAAAAAA","type":"public-key","response":"x"}"#,
    ])
    func `A malformed credential is reported as such`(credential: String) async throws {
        try await UserClient.runWithPasskeys { client in
            let tokens = try await client.signUp()
            for path in ["passkeys/login", "me/passkeys"] {
                let answer = try await client.send("POST", path, #"{"credential":\#(credential)}"#, as: tokens)
                #expect(answer.isProblem(.invalidBody, field: "credential"), "\(answer)")
            }
            let signUp = try await client.send(
                "POST", "passkeys/signup", #"{"userName":"berta","credential":\#(credential)}"#)
            #expect(signUp.isProblem(.invalidBody, field: "credential"), "\(signUp)")
        }
    }

    @Test func `A proof works once, even when sent many times at once, and nowhere else`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            let tokens = try await client.signUp(by: &device)
            let credential = try device.get(try await client.signInOptions())
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await client.signIn(credential).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200] + Array(repeating: 401, count: 7))
            // Challenges issued for another purpose.
            let registration = try await client.passkeyOptions(as: tokens, "{}")
            #expect(try await client.signIn(try device.get(registration)).isProblem(.signInFailed))
            var second = SoftPasskey()
            second.challenge = try await client.signInOptions().string("challenge")
            let added = try await client.send(
                "POST", "me/passkeys", #"{"credential":\#(try second.create(registration))}"#, as: tokens)
            #expect(added.isProblem(.invalidBody, field: "credential"), "\(added)")
            // An answer that comes too late is refused.
            let late = try device.get(try await client.signInOptions())
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.passkey_challenges SET expires = now() - interval '1 second'")
            #expect(try await client.signIn(late).isProblem(.signInFailed))
            // The next call deletes them.
            _ = try await client.signInOptions()
            #expect(try await client.count("SELECT count(*) FROM auth.passkey_challenges") == 1)
        }
    }

    @Test func `A registration works once, even when sent many times at once, and for its user only`() async throws {
        try await UserClient.runWithPasskeys { client in
            let (anna, berta) = (try await client.signUp(), try await client.signUp("berta"))
            var device = SoftPasskey()
            let body = #"{"credential":\#(try device.create(try await client.passkeyOptions(as: anna)))}"#
            let stolen = try await client.send("POST", "me/passkeys", body, as: berta)
            #expect(stolen.isProblem(.invalidBody, field: "credential"), "\(stolen)")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await client.send("POST", "me/passkeys", body, as: anna).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201] + Array(repeating: 400, count: 5))
        }
    }

    @Test func `A registered passkey cannot be registered by another user, even with another key`() async throws {
        try await UserClient.runWithPasskeys { client in
            let (anna, berta) = (try await client.signUp(), try await client.signUp("berta"))
            var device = SoftPasskey()
            #expect(try await client.addPasskey(&device, as: anna).status == 201)
            for key in [device.key, .es256(P256.Signing.PrivateKey())] {
                var copy = device
                copy.key = key
                for tokens in [berta, anna] {
                    let answer = try await client.addPasskey(&copy, as: tokens)
                    #expect(answer.isProblem(.conflict, field: "credential"), "\(answer)")
                }
            }
            #expect(try await client.count("SELECT count(*) FROM auth.passkeys") == 1)
            #expect(try await client.signIn(by: &device).string("user.userName") == "anna")
        }
    }

    @Test func `Environments and apps do not share passkeys or challenges`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            _ = try await client.signUp(by: &device)
            var test = client
            test.environment = .test
            let other = UserClient(auth: client.auth, app: try await client.auth.apps.create(name: "Other"))
            for stranger in [test, other] {
                #expect(try await stranger.send("POST", "passkeys/options").isProblem(.notFound))
                try await stranger.allowPasskeys()
                #expect(try await stranger.signIn(by: &device).isProblem(.signInFailed))
                // Challenges are not interchangeable in either direction.
                #expect(
                    try await client.signIn(try device.get(try await stranger.signInOptions())).isProblem(.signInFailed)
                )
                #expect(
                    try await stranger.signIn(try device.get(try await client.signInOptions())).isProblem(.signInFailed)
                )
                // The same authenticator may have a user in each.
                var same = device
                let tokens = try await stranger.signUp(by: &same)
                #expect(try await stranger.signIn(by: &same).string("user.id") == tokens.userID)
            }
            #expect(try await client.signIn(by: &device).status == 200)
        }
    }

    @Test func `A signature count that does not increase reveals a copy`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            device.count = 7
            _ = try await client.signUp(by: &device)
            for (count, isAccepted) in [
                (7, false), (6, false), (0, false), (8, true), (8, false), (7, false), (100, true), (UInt32.max, true),
                (0, false),
            ] as [(UInt32, Bool)] {
                device.count = count
                let answer = try await client.signIn(by: &device)
                #expect(isAccepted ? answer.status == 200 : answer.isProblem(.signInFailed), "\(count): \(answer)")
            }
            // Two proofs with the same count at once, each with its own challenge.
            var counting = SoftPasskey()
            _ = try await client.signUp("berta", by: &counting)
            counting.count = 5
            var copy = counting
            let proofs = [
                try counting.get(try await client.signInOptions()), try copy.get(try await client.signInOptions()),
            ]
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for proof in proofs { group.addTask { try await client.signIn(proof).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 401])
        }
    }

    @Test func `An authenticator without a count is accepted`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            _ = try await client.signUp(by: &device)
            for _ in 0..<3 {
                device.count = 0
                #expect(try await client.signIn(by: &device).status == 200)
            }
        }
    }

    @Test func `A malformed signature is refused, and a re-encoded one does not count again`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            _ = try await client.signUp(by: &device)
            let changes: [@Sendable (Data) -> Data] = [
                { _ in Data([0]) }, { $0 + [0] }, { $0.dropLast() }, { _ in Data(repeating: 0, count: 64) },
                { Data($0.reversed()) },
                // r = s = 0, r = s = 1
                { _ in Data([0x30, 6, 2, 1, 0, 2, 1, 0]) }, { _ in Data([0x30, 6, 2, 1, 1, 2, 1, 1]) },
                // r and s without DER.
                { (try? P256.Signing.ECDSASignature(derRepresentation: $0).rawRepresentation) ?? Data([0]) },
                // A length in two bytes where one is enough.
                { Data([0x30, 0x81]) + $0.dropFirst() },
            ]
            for (number, change) in changes.enumerated() {
                let credential = try device.get(try await client.signInOptions(), signature: change)
                #expect(try await client.signIn(credential).isProblem(.signInFailed), "\(number)")
            }
            // Both s and n - s are valid signatures; the challenge ensures that the proof counts once.
            let options = try await client.signInOptions()
            var copy = device
            let (first, second) = (
                try device.get(options, signature: Self.lowS), try copy.get(options, signature: Self.highS)
            )
            #expect(try await client.signIn(first).status == 200)
            #expect(try await client.signIn(second).isProblem(.signInFailed))
        }
    }

    private static func lowS(_ signature: Data) -> Data { signature }

    /// Replaces s with n - s (the group's order, SEC 2 §2.4.2).
    private static func highS(_ signature: Data) -> Data {
        let order: [UInt8] = [
            0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad,
            0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2,
            0xfc, 0x63, 0x25, 0x51,
        ]
        guard let raw = try? P256.Signing.ECDSASignature(derRepresentation: signature).rawRepresentation else {
            return signature
        }
        var borrow = 0
        var difference = [UInt8](repeating: 0, count: 32)
        for (place, (n, s)) in zip(order, raw.suffix(32)).enumerated().reversed() {
            let value = Int(n) - Int(s) - borrow
            (difference[place], borrow) = (UInt8(truncatingIfNeeded: value), value < 0 ? 1 : 0)
        }
        return (try? P256.Signing.ECDSASignature(rawRepresentation: raw.prefix(32) + difference).derRepresentation)
            ?? signature
    }

    @Test func `Disabled and deleted users are refused like unknown ones`() async throws {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            let tokens = try await client.signUp(by: &device)
            #expect(try await client.master("PATCH", "users/\(tokens.userID)", #"{"disabled":true}"#).status == 200)
            let disabled = try await client.signIn(by: &device)
            #expect(try await client.master("DELETE", "users/\(tokens.userID)").status == 202)
            let gone = try await client.signIn(by: &device)
            #expect(disabled.isProblem(.signInFailed) && disabled.text == gone.text, "\(disabled) \(gone)")
            #expect(try await client.count("SELECT count(*) FROM auth.passkeys") == 0)
        }
    }

    @Test func `The options for signing in reveal nothing about users`() async throws {
        try await UserClient.runWithPasskeys { client in
            _ = try await client.signUp()
            let options = try await client.signInOptions()
            #expect(options["allowCredentials"] == "[]" && options.string("rpId") == "example.org", "\(options)")
            // No name is requested, so none can be tried.
            #expect(
                try await client.send("POST", "passkeys/options", #"{"userName":"anna"}"#).isProblem(
                    .invalidBody, field: "userName"))
            func shape(_ answer: Answer) -> String { answer.text.replacing(/"(challenge|id)":"[^"]*"/, with: "") }
            let known = try await client.send("POST", "passkeys/signup/options", #"{"userName":"anna"}"#)
            let unknown = try await client.send("POST", "passkeys/signup/options", #"{"userName":"otto"}"#)
            #expect(shape(known) == shape(unknown).replacing("otto", with: "anna"))
        }
    }

    @Test func `Challenges for one address are slowed down, and so are failures`() async throws {
        try await UserClient.runWithPasskeys { client in
            var statuses: [Int] = []
            while !statuses.contains(429), statuses.count < 600 {
                statuses.append(try await client.send("POST", "passkeys/options").status)
            }
            #expect(statuses.count > 200 && statuses.last == 429)
            var other = client
            other.address = "0:2"
            #expect(try await other.send("POST", "passkeys/options").status == 200)
            var device = SoftPasskey()
            let credential = try device.get(try await other.signInOptions())
            var failures: [Int] = []
            while !failures.contains(429), failures.count < 200 {
                failures.append(try await other.signIn(credential).status)
            }
            #expect(failures.count > 100 && failures.last == 429)
        }
    }

    @Test func `Passkey endpoints need a signed-in user`() async throws {
        try await UserClient.runWithPasskeys { client async throws in
            for (method, path) in [
                ("POST", "me/passkeys/options"), ("POST", "me/passkeys"), ("GET", "me/passkeys"),
                ("PATCH", "me/passkeys/\(UUID())"), ("DELETE", "me/passkeys/\(UUID())"),
            ] {
                #expect(try await client.send(method, path).isProblem(.invalidToken), "\(method) \(path)")
            }
        }
    }
}
