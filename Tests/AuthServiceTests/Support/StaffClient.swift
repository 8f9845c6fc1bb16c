import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// Calls auth as the dashboard does for staff, through the gateway.
struct StaffClient: Sendable {
    static let password = "correct horse battery"

    let auth: AuthApp
    /// 192.0.2.7 in the gateway's notation.
    var address = "0:ffffc0000207"

    /// Runs with an administrator `root`, whose tokens are passed to `body`.
    static func run(_ body: @Sendable (StaffClient, StaffTokens) async throws -> Void) async throws {
        try await AuthApp.run { auth in
            let client = StaffClient(auth: auth)
            #expect(try await client.store.create(userName: "root", password: Secret(password), isAdministrator: true))
            try await body(client, try await client.signIn("root"))
        }
    }

    var store: StaffStore { StaffStore(postgres: auth.postgres) }

    /// - Parameter tokens: Of the signed-in member. Rights are looked up like by the gateway, which also refuses ended
    ///   sessions.
    func send(
        _ method: String, _ path: String, _ body: String? = nil, as tokens: StaffTokens? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var staff: StaffGrant?
        if let tokens {
            let id = try #require(UUID(uuidString: tokens.staffID))
            staff = try await store.account(id)?.grant
            staff?.mustReset = tokens.mustReset
            staff?.confirmed = tokens.confirmed
        }
        let principal = Principal(
            kind: .staff, appID: "", appNumber: 0, environment: .live, credentialID: staff?.id ?? "",
            sessionID: tokens?.sessionID, staff: staff)
        return try await auth.gateway.acting(as: principal).send(
            method, "/admin/" + path, body, headers: headers.merging([HeaderName.address: address]) { $1 })
    }

    func logIn(_ name: String, password: String = password, more: String = "") async throws -> Answer {
        try await send("POST", "auth/login", #"{"userName":"\#(name)","password":"\#(password)"\#(more)}"#)
    }

    func signIn(_ name: String, password: String = password, more: String = "") async throws -> StaffTokens {
        let answer = try await logIn(name, password: password, more: more)
        try #require(answer.status == 200, "\(answer)")
        return try StaffTokens(answer)
    }

    func refresh(_ token: String) async throws -> Answer {
        try await send("POST", "auth/refresh", #"{"refreshToken":"\#(token)"}"#)
    }

    /// Creates a staff member who need not change the password, and returns the id.
    func make(_ name: String, rights: String = "{}", isAdministrator: Bool = false, by tokens: StaffTokens) async throws
        -> String
    {
        let answer = try await send(
            "POST", "staff",
            #"{"userName":"\#(name)","password":"\#(Self.password)","mustReset":false,"isAdministrator":\#(isAdministrator),"rights":\#(rights)}"#,
            as: tokens)
        try #require(answer.status == 201, "\(answer)")
        #expect(answer["password"] == nil)
        return try #require(answer.string("id"))
    }

    func count(_ query: PostgresQuery) async throws -> Int {
        try await auth.postgres.query(query)[0].decode(0)
    }

    /// The newest entries of the audit log as `<who> <action> <target>`, newest first.
    func log(_ limit: Int = 1) async throws -> [String] {
        try await auth.postgres.query(
            "SELECT concat_ws(' ', staff_name, action, area, target) FROM auth.audit_log ORDER BY number DESC LIMIT \(limit)"
        ).map { try $0.decode(0) }
    }
}

/// The tokens a dashboard has after signing in.
struct StaffTokens: Sendable {
    let access: String
    let refresh: String
    let staffID: String
    let sessionID: String
    let mustReset: Bool
    var confirmed: Int64?

    init(_ answer: Answer) throws {
        access = try #require(answer.string("accessToken"))
        refresh = try #require(answer.string("refreshToken"))
        staffID = try #require(answer.string("staff.id"))
        let payload = try #require(Base64URL.decode(access.split(separator: ".")[1]))
        let token = try JSONDecoder().decode(StaffToken.self, from: payload)
        (sessionID, mustReset, confirmed) = (token.sessionID, token.mustReset, token.confirmed)
        #expect(token.staffID == staffID)
        #expect(answer["expiresIn"] == "900" && answer.header("cache-control") == "no-store")
    }
}
