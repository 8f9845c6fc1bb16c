import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A proof that a user reads the mail of an address, as received with a request.
enum PresentedProof: Sendable {
    /// The token from the link.
    case token(String)
    /// - Parameter subject: What the code belongs to: the address, or the user's id for a change of address.
    case code(String, subject: String)
}

/// A valid proof that has not been used yet.
struct MailProof: Sendable {
    var tokenHash: Data
    var email: String
    /// Nil if no user had the address when the mail was written.
    var userID: UUID?
}

/// Mailed proofs. Each can be used once, and only until a newer one replaces it.
struct MailProofStore: Sendable {
    /// The maximum number of tries per code, right or wrong.
    static let maximumTries: Int64 = 5
    private static let prefix = "mt_"
    private static let codeLength = 8

    let postgres: PostgresClient
    let codeKey: SymmetricKey

    /// Creates a proof that replaces the previous one.
    ///
    /// - Returns: The token and the code to type; neither is stored.
    func make(
        _ kind: MailKind, subject: String, email: String, of user: UUID?, lifetimeInSeconds: Int64, in space: AppSpace
    ) async throws -> (token: String, code: String) {
        let token = Self.prefix + SymmetricKey(size: .bits256).withUnsafeBytes { Base64URL.encode($0) }
        let code = Self.makeCode()
        try await postgres.execute(
            """
            INSERT INTO auth.mail_proofs (app_id, environment, purpose, subject, email, user_id, token_hash, code_mac, expires)
            VALUES (\(space.appID), \(space.environment.rawValue), \(kind.rawValue), \(subject), \(email), \(user), \(Self.hash(token)),
                \(mac(code, kind, subject, space)), now() + \(lifetimeInSeconds) * interval '1 second')
            ON CONFLICT (app_id, environment, purpose, subject) DO UPDATE SET
                email = excluded.email, user_id = excluded.user_id, token_hash = excluded.token_hash, code_mac = excluded.code_mac,
                tries = 0, expires = excluded.expires
            """)
        return (token, code)
    }

    /// The proof that was presented; nil if it does not exist, has expired, was replaced or its code was tried too
    /// often. A try is counted before the code is checked.
    func find(_ presented: PresentedProof, _ kind: MailKind, in space: AppSpace) async throws -> MailProof? {
        switch presented {
        case .token(let token):
            return try await postgres.query(
                """
                SELECT token_hash, email, user_id, code_mac FROM auth.mail_proofs
                WHERE token_hash = \(Self.hash(token)) AND purpose = \(kind.rawValue) AND \(Self.isIn(space)) AND expires > now()
                """
            ).first.map(Self.proof)
        case .code(let code, let subject):
            let row = try await postgres.query(
                """
                UPDATE auth.mail_proofs SET tries = tries + 1
                WHERE \(Self.isIn(space)) AND purpose = \(kind.rawValue) AND subject = \(subject) AND expires > now() AND tries < \(Self.maximumTries)
                RETURNING token_hash, email, user_id, code_mac
                """
            ).first
            let digits = code.filter { $0 != " " && $0 != "-" }
            guard let row, digits.utf8.count == Self.codeLength else { return nil }
            let isCorrect = HMAC<SHA256>.isValidAuthenticationCode(
                try row.decode(3) as Data, authenticating: Self.text(digits, kind, subject, space), using: codeKey)
            return isCorrect ? try Self.proof(row) : nil
        }
    }

    /// Consumes a proof. Returns no row if it has been consumed already.
    static func consumption(of proof: MailProof) -> PostgresQuery {
        "DELETE FROM auth.mail_proofs WHERE token_hash = \(proof.tokenHash) AND expires > now() RETURNING user_id, email"
    }

    /// Consumes a proof in a separate statement. Returns false if it has been consumed already.
    func consume(_ proof: MailProof) async throws -> Bool {
        try await !postgres.query(Self.consumption(of: proof)).isEmpty
    }

    /// Deletes expired proofs.
    func clean() async throws {
        try await postgres.execute("DELETE FROM auth.mail_proofs WHERE expires < now()", timeout: .seconds(120))
        try await postgres.execute(
            "DELETE FROM auth.mail_counts WHERE hour < now() - interval '1 day'", timeout: .seconds(120))
        try await postgres.execute(
            "DELETE FROM auth.invitations WHERE coalesce(used, expires) < now() - interval '30 days'",
            timeout: .seconds(120))
    }

    private static func proof(_ row: PostgresRow) throws -> MailProof {
        MailProof(tokenHash: try row.decode(0), email: try row.decode(1), userID: try row.decode(2))
    }

    private static func isIn(_ space: AppSpace) -> PostgresQuery {
        "app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
    }

    private static func hash(_ token: String) -> Data { Data(SHA256.hash(data: Data(token.utf8))) }

    private func mac(_ code: String, _ kind: MailKind, _ subject: String, _ space: AppSpace) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Self.text(code, kind, subject, space), using: codeKey))
    }

    private static func text(_ code: String, _ kind: MailKind, _ subject: String, _ space: AppSpace) -> Data {
        Data([space.appID, space.environment.rawValue, kind.rawValue, subject, code].joined(separator: "\u{0}").utf8)
    }

    /// Eight random digits, uniformly distributed.
    private static func makeCode() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<codeLength).map { _ in Character(String(Int.random(in: 0...9, using: &generator))) })
    }
}
