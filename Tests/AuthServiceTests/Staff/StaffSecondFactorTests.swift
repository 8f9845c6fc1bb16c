import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct StaffSecondFactorTests {
    /// Lends root with a second factor, and the secret in the authenticator app.
    private func withFactor(_ body: @Sendable (StaffClient, StaffTokens, [UInt8], [String]) async throws -> Void)
        async throws
    {
        try await StaffClient.run { client, root async throws in
            let id = try #require(UUID(uuidString: root.staffID))
            let added = try await client.send("POST", "me/totp", #"{"password":"\#(StaffClient.password)"}"#, as: root)
            let text = try #require(added.string("secret"))
            #expect(
                added.string("uri")?.hasPrefix("otpauth://totp/Martlet:root?secret=\(text)&issuer=Martlet&") == true,
                "\(added)")
            #expect(try await client.logIn("root").status == 200)
            let secret = try Self.decode(text)
            #expect(
                try await client.send("POST", "me/totp/confirm", #"{"code":"12345x"}"#, as: root).isProblem(
                    .signInFailed, field: "code"))
            let confirmed = try await client.send(
                "POST", "me/totp/confirm", #"{"code":"\#(Self.code(secret, 0))"}"#, as: root)
            let codes = (0..<10).compactMap { confirmed.string("recoveryCodes.\($0)") }
            try #require(Set(codes).count == 10, "\(confirmed)")
            #expect(try await client.log() == ["root add-second-factor staff \(id.uuidString.lowercased())"])
            try await body(client, root, secret, codes)
        }
    }

    private static func decode(_ base32: String) throws -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = try base32.flatMap { character in
            let value = try #require(alphabet.firstIndex(of: character))
            return (0..<5).map { value >> (4 - $0) & 1 }
        }
        return stride(from: 0, to: bits.count - 7, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | UInt8($1) }
        }
    }

    /// The code `steps` after the current one. The current one and the next are valid for at least 30 seconds.
    private static func code(_ secret: [UInt8], _ steps: Int64) -> String {
        OneTimePassword.code(secret: secret, counter: Int64(Date().timeIntervalSince1970) / 30 + steps)
    }

    @Test func `Signing in requires a code, which is valid once even when used concurrently`() async throws {
        try await withFactor { client, _, secret, _ async throws in
            #expect(try await client.logIn("root").isProblem(.secondFactorRequired))
            #expect(try await client.logIn("root", password: "wrong horse battery").isProblem(.signInFailed))
            #expect(try await client.logIn("root", more: #","code":"nonsense""#).isProblem(.signInFailed))
            let more = #","code":"\#(Self.code(secret, 1))""#
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 { group.addTask { try await client.logIn("root", more: more).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(
                statuses.filter { $0 == 200 }.count == 1 && statuses.allSatisfy { [200, 401, 429].contains($0) },
                "\(statuses)")
        }
    }

    @Test func `A recovery code is valid once, and new codes replace the old ones`() async throws {
        try await withFactor { client, root, secret, codes async throws in
            #expect(try await client.logIn("root", more: #","code":"\#(codes[0])""#).status == 200)
            #expect(try await client.logIn("root", more: #","code":"\#(codes[0])""#).isProblem(.signInFailed))
            let body = #"{"password":"\#(StaffClient.password)","code":"\#(codes[1])"}"#
            let renewed = try await client.send("POST", "me/totp/recovery-codes", body, as: root)
            let fresh = try #require(renewed.string("recoveryCodes.0"), "\(renewed)")
            #expect(try await client.logIn("root", more: #","code":"\#(codes[2])""#).isProblem(.signInFailed))
            #expect(try await client.logIn("root", more: #","code":"\#(fresh)""#).status == 200)
        }
    }

    @Test func `The second factor is removed with password and code, or by another administrator`()
        async throws
    {
        try await withFactor { client, root, secret, codes async throws in
            let without = #"{"password":"\#(StaffClient.password)","code":"0"}"#
            #expect(
                try await client.send("DELETE", "me/totp", without, as: root).isProblem(.signInFailed, field: "code"))
            #expect(try await client.send("DELETE", "staff/\(root.staffID)/totp", as: root).isProblem(.conflict))
            #expect(try await client.logIn("root").isProblem(.secondFactorRequired))

            _ = try await client.make("berta", isAdministrator: true, by: root)
            let berta = try await client.signIn("berta")
            #expect(try await client.send("DELETE", "staff/\(root.staffID)/totp", as: berta).status == 204)
            #expect(try await client.log() == ["berta remove-second-factor staff \(root.staffID)"])
            #expect(try await client.refresh(root.refresh).isProblem(.invalidToken))
            #expect(try await client.logIn("root").status == 200)
        }
    }

    @Test func `Staff remove their own second factor with password and code`() async throws {
        try await withFactor { client, root, secret, codes async throws in
            let body = #"{"password":"\#(StaffClient.password)","code":"\#(codes[3])"}"#
            #expect(try await client.send("DELETE", "me/totp", body, as: root).status == 204)
            #expect(try await client.logIn("root").status == 200)
            #expect(try await client.count("SELECT count(*) FROM auth.staff_recovery_codes") == 0)
            #expect(try await client.send("DELETE", "me/totp", body, as: root).isProblem(.conflict))
        }
    }

    @Test func `Secrets sealed for users cannot be used for staff`() async throws {
        try await withFactor { client, root, secret, _ async throws in
            let id = try #require(UUID(uuidString: root.staffID))
            let keys = ServerKeys(internalSecret: Secret("an-internal-secret-of-the-tests-0123456789"))
            let store = SecondFactorStore(client.auth.postgres, keys)
            let user = Person.user(id, AppSpace(appID: "", environment: .live))
            #expect(try await !store.isRequired(of: user))
            #expect(try await !store.consume(Self.code(secret, 1), of: user))
        }
    }
}
