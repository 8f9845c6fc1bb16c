import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AuthService

/// Staff who sign in with a provider, as in a dashboard.
extension StaffClient {
    static let console = "https://console.example/signed-in"

    /// Lends an administrator `root`, and a provider configured for staff as `acme`.
    static func run(
        _ more: String = "", _ body: @Sendable (StaffClient, StaffTokens, FakeProvider) async throws -> Void
    ) async throws {
        try await FakeProvider.run { users, provider in
            let client = StaffClient(auth: users.auth)
            #expect(try await client.store.create(userName: "root", password: Secret(password), isAdministrator: true))
            let root = try await client.signIn("root")
            try await client.setUp(issuer: provider.url, more, as: root)
            try await body(client, root, provider)
        }
    }

    func setUp(_ name: String = "acme", issuer: String, _ more: String = "", as tokens: StaffTokens) async throws {
        let answer = try await send(
            "PUT", "identity-providers/\(name)",
            #"{"kind":"oidc","clientIDs":["martlet"],"clientSecret":"s3cret","issuer":"\#(issuer)","redirectURLs":["\#(Self.console)"]\#(more)}"#,
            as: tokens)
        try #require(answer.status == 200, "\(answer)")
        #expect(!answer.text.contains("s3cret") && answer["hasSecret"] == "true")
    }

    func begin(_ name: String = "acme", redirectURL: String = console) async throws -> (url: String, state: String) {
        let answer = try await send(
            "POST", "auth/oidc/\(name)/start",
            #"{"redirectURL":"\#(redirectURL)","codeChallenge":"\#(TestProvider.challenge)"}"#)
        try #require(answer.status == 200 && answer.header("cache-control") == "no-store", "\(answer)")
        return (try #require(answer.string("url")), try #require(answer.string("state")))
    }

    /// Simulates the provider's redirect of the browser.
    func callBack(_ parameters: [String: String]) async throws -> Answer {
        try await send("GET", "auth/oidc/callback?" + FormBody.encode(parameters.map { ($0.key, $0.value) }))
    }

    /// Simulates the user's sign-in at the provider, with claims as JSON. Returns the code of the redirect.
    func consent(at provider: FakeProvider, _ claims: [String: String] = [:], name: String = "acme") async throws
        -> String
    {
        let (url, state) = try await begin(name)
        let back = try await callBack(["code": try provider.approve(url, claims), "state": state])
        let location = try #require(back.header("location"), "\(back)")
        #expect(back.status == 303 && location.hasPrefix(Self.console + "?"))
        let call = try fields(inQueryOf: location)
        #expect(call["state"] == state)
        return try #require(call["code"], "\(location)")
    }

    func finish(_ code: String, verifier: String = TestProvider.verifier, more: String = "") async throws -> Answer {
        try await send("POST", "auth/oidc/finish", #"{"code":"\#(code)","codeVerifier":"\#(verifier)"\#(more)}"#)
    }

    func signIn(_ provider: FakeProvider, _ claims: [String: String] = [:], more: String = "") async throws -> Answer {
        try await finish(try await consent(at: provider, claims), more: more)
    }

    func link(_ id: String, _ body: String, name: String = "acme", as tokens: StaffTokens) async throws -> Answer {
        try await send("PUT", "staff/\(id)/identities/\(name)", body, as: tokens)
    }
}
