import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Sign-in flows at providers. Only the SHA-256 of states and codes is stored; each can be used once.
struct OAuthFlowStore: Sendable {
    static let stateLifetimeInSeconds: Int64 = 600
    static let codeLifetimeInSeconds: Int64 = 300

    let postgres: PostgresClient
    let key: SealingKey

    struct Flow: Sendable {
        var space: AppSpace
        var provider: String
        var redirectURL: String
        /// The app's code challenge, S256 (RFC 7636 §4.2).
        var codeChallenge: String
    }

    /// The result of a completed flow.
    struct CompletedFlow: Sendable {
        var identity: VerifiedIdentity
        var codeChallenge: String
    }

    func begin(_ flow: Flow, state: String) async throws {
        try await postgres.execute(
            """
            INSERT INTO auth.oauth_flows (state_hash, app_id, environment, provider, redirect_url, code_challenge, expires)
            VALUES (\(Self.hash(state)), \(flow.space.appID), \(flow.space.environment.rawValue), \(flow.provider), \(flow.redirectURL),
                \(flow.codeChallenge), now() + \(Self.stateLifetimeInSeconds) * interval '1 second')
            """)
    }

    /// Consumes a state of the app; nil if it is unknown, used up or expired.
    func consume(state: String, of appID: String) async throws -> Flow? {
        try await postgres.query(
            """
            DELETE FROM auth.oauth_flows WHERE state_hash = \(Self.hash(state)) AND app_id = \(appID) AND expires > now()
            RETURNING environment, provider, redirect_url, code_challenge
            """
        ).first.flatMap { row in
            guard let environment = AppEnvironment(rawValue: try row.decode(0)) else { return nil }
            return Flow(
                space: AppSpace(appID: appID, environment: environment), provider: try row.decode(1),
                redirectURL: try row.decode(2),
                codeChallenge: try row.decode(3))
        }
    }

    /// Stores the identity until the app requests it with the returned code.
    func store(_ identity: VerifiedIdentity, of flow: Flow) async throws -> String {
        let code = Secret.random().withValue { $0 }
        let hash = Self.hash(code)
        try await postgres.execute(
            """
            INSERT INTO auth.oauth_codes (code_hash, app_id, environment, code_challenge, sealed_identity, expires)
            VALUES (\(hash), \(flow.space.appID), \(flow.space.environment.rawValue), \(flow.codeChallenge),
                \(try key.seal(value: identity, for: Self.purpose(hash))), now() + \(Self.codeLifetimeInSeconds) * interval '1 second')
            """)
        return code
    }

    /// The result of the flow that gave a code, without consuming the code; nil if it is unknown, used up or expired.
    func identity(for code: String, in space: AppSpace) async throws -> CompletedFlow? {
        let hash = Self.hash(code)
        return try await postgres.query(
            """
            SELECT sealed_identity, code_challenge FROM auth.oauth_codes
            WHERE code_hash = \(hash) AND app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND expires > now()
            """
        ).first.flatMap { row in
            guard let identity = key.value(VerifiedIdentity.self, in: try row.decode(0), for: Self.purpose(hash)) else {
                return nil
            }
            return CompletedFlow(identity: identity, codeChallenge: try row.decode(1))
        }
    }

    /// Consumes a code. Returns false if it has been consumed already.
    func consume(code: String) async throws -> Bool {
        try await postgres.execute(
            "DELETE FROM auth.oauth_codes WHERE code_hash = \(Self.hash(code)) AND expires > now()") > 0
    }

    /// Marks an id token as used. Returns false if it was used before.
    func consume(idToken: String, expires: Date) async throws -> Bool {
        try await postgres.execute(
            "INSERT INTO auth.used_id_tokens (hash, expires) VALUES (\(Self.hash(idToken)), \(expires)) ON CONFLICT DO NOTHING"
        ) > 0
    }

    /// Deletes expired rows.
    func clean() async throws {
        try await postgres.execute("DELETE FROM auth.oauth_flows WHERE expires < now()", timeout: .seconds(120))
        try await postgres.execute("DELETE FROM auth.oauth_codes WHERE expires < now()", timeout: .seconds(120))
        try await postgres.execute("DELETE FROM auth.used_id_tokens WHERE expires < now()", timeout: .seconds(120))
    }

    private static func hash(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }

    private static func purpose(_ hash: Data) -> String { "oauth code \(Base64URL.encode(hash))" }
}
