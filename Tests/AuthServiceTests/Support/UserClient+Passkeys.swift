import MartletAPI
import MartletTesting
import Testing

@testable import AuthService

extension UserClient {
    /// Runs with passkey settings for `example.org`.
    static func runWithPasskeys(_ body: @Sendable (UserClient) async throws -> Void) async throws {
        try await run { client in
            try await client.allowPasskeys()
            try await body(client)
        }
    }

    func allowPasskeys() async throws {
        let body =
            #"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org","https://shop.example.org"]}"#
        let answer = try await master("PUT", "passkeys/settings", body)
        #expect(answer.status == 200, "\(answer)")
    }

    func passkeyOptions(as tokens: Tokens, _ body: String = #"{"password":"correct horse"}"#) async throws -> Answer {
        let options = try await send("POST", "me/passkeys/options", body, as: tokens)
        try #require(options.status == 200, "\(options)")
        return options
    }

    func addPasskey(_ device: inout SoftPasskey, as tokens: Tokens, _ body: String = #"{"password":"correct horse"}"#)
        async throws -> Answer
    {
        let credential = try device.create(try await passkeyOptions(as: tokens, body))
        return try await send("POST", "me/passkeys", #"{"credential":\#(credential)}"#, as: tokens)
    }

    func signInOptions() async throws -> Answer {
        let options = try await send("POST", "passkeys/options")
        try #require(options.status == 200, "\(options)")
        return options
    }

    func signIn(_ credential: String, more: String = "") async throws -> Answer {
        try await send("POST", "passkeys/login", #"{"credential":\#(credential)\#(more)}"#)
    }

    func signIn(by device: inout SoftPasskey, more: String = "") async throws -> Answer {
        try await signIn(try device.get(try await signInOptions()), more: more)
    }

    /// Signs up without a password.
    func signUp(_ name: String = "anna", by device: inout SoftPasskey) async throws -> Tokens {
        let options = try await send("POST", "passkeys/signup/options", #"{"userName":"\#(name)"}"#)
        try #require(options.status == 200, "\(options)")
        let answer = try await send(
            "POST", "passkeys/signup", #"{"userName":"\#(name)","credential":\#(try device.create(options))}"#)
        try #require(answer.status == 201, "\(answer)")
        return try Tokens(answer)
    }
}
