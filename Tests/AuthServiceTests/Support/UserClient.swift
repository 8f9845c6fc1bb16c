import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

/// Calls auth as an app does for its users, and as the app's server does.
struct UserClient: Sendable {
    let auth: AuthApp
    let app: App
    var environment = AppEnvironment.live
    var address = "0:1"

    static func run(
        mail: MailSettings = MailSettings(),
        services: @Sendable (MigratedDatabase) async throws -> [ServiceAddress] = { _ in [] },
        exportLimitInBytes: Int = 1 << 20, _ body: @Sendable (UserClient) async throws -> Void
    ) async throws {
        try await AuthApp.run(mail: mail, services: services, exportLimitInBytes: exportLimitInBytes) { auth in
            try await body(UserClient(auth: auth, app: try await auth.apps.create(name: "Shop")))
        }
    }

    private func principal(_ kind: Principal.Kind, _ tokens: Tokens?) -> Principal {
        Principal(
            kind: kind, appID: app.id, appNumber: app.number, environment: environment, credentialID: "c",
            userID: tokens?.userID,
            sessionID: tokens?.sessionID)
    }

    /// - Parameter tokens: The signed-in user's tokens, which count as verified by the gateway.
    func send(
        _ method: String, _ path: String, _ body: String? = nil, as tokens: Tokens? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        try await auth.gateway.acting(as: principal(.client, tokens))
            .send(method, "/auth/" + path, body, headers: headers.merging([HeaderName.address: address]) { $1 })
    }

    func master(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
        try await auth.gateway.acting(as: principal(.master, nil)).send(method, "/auth/" + path, body)
    }

    /// Signs up with a user name.
    func signUp(_ name: String = "anna", password: String = "correct horse", more: String = "") async throws -> Tokens {
        let answer = try await send("POST", "signup", #"{"userName":"\#(name)","password":"\#(password)"\#(more)}"#)
        try #require(answer.status == 201, "\(answer)")
        return try Tokens(answer)
    }

    func logIn(_ name: String = "anna", password: String = "correct horse") async throws -> Answer {
        try await send("POST", "login", #"{"userName":"\#(name)","password":"\#(password)"}"#)
    }

    func refresh(_ token: String) async throws -> Answer {
        try await send("POST", "refresh", #"{"refreshToken":"\#(token)"}"#)
    }

    /// A number from the database.
    func count(_ query: PostgresQuery) async throws -> Int {
        try await auth.postgres.query(query)[0].decode(0)
    }
}

/// The tokens an app has after signing in.
struct Tokens: Sendable {
    let access: String
    let refresh: String
    let userID: String
    let sessionID: String

    init(_ answer: Answer) throws {
        access = try #require(answer.string("accessToken"))
        refresh = try #require(answer.string("refreshToken"))
        userID = try #require(answer.string("user.id"))
        let payload = try #require(Base64URL.decode(access.split(separator: ".")[1]))
        let token = try JSONDecoder().decode(AccessToken.self, from: payload)
        sessionID = token.sessionID
        #expect(token.userID == userID)
    }
}

extension Answer {
    /// A string in the body.
    func string(_ path: String) -> String? {
        let value = path.split(separator: ".").reduce(json) { $0?[$1] }
        return if case .string(let text) = value { text } else { nil }
    }
}
