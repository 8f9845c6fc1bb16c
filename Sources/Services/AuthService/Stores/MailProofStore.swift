import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// What somebody shows to prove that they read an address: what was in a mail.
enum ShownProof: Sendable {
    /// Of the link.
    case token(String)
    /// - Parameter subject: what the code goes with: the address, or of a change of address the user's id.
    case code(String, subject: String)
}

/// A proof that is as good as was shown; it has not been used up yet.
struct MailProof: Sendable {
    var tokenHash: Data
    var email: String
    /// Nil: nobody had the address when the mail was written.
    var userID: UUID?
}

/// Proofs that were mailed: each good once, until a newer one takes its place.
struct MailProofStore: Sendable {
    /// Of one code, right or wrong.
    static let maximumTries: Int64 = 5
    private static let prefix = "mt_"
    private static let codeLength = 8

    let postgres: PostgresClient
    let codeKey: SymmetricKey

    /// Makes a proof in place of a former one.
    ///
    /// - Returns: the token, and the code for typing: neither is stored.
    func make(
        _ kind: MailKind, subject: String, email: String, of user: UUID?, lifetimeInSeconds: Int64, in space: UserSpace
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

    /// The proof that was shown; nil: there is none such, or it has expired or been replaced, or its code was tried too
    /// often. A look at a code counts as a try, before it is looked at.
    func find(_ shown: ShownProof, _ kind: MailKind, in space: UserSpace) async throws -> MailProof? {
        switch shown {
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
            let isRight = HMAC<SHA256>.isValidAuthenticationCode(
                try row.decode(3) as Data, authenticating: Self.text(digits, kind, subject, space), using: codeKey)
            return isRight ? try Self.proof(row) : nil
        }
    }

    /// Uses a proof up; no row: somebody else has.
    static func consumption(of proof: MailProof) -> PostgresQuery {
        "DELETE FROM auth.mail_proofs WHERE token_hash = \(proof.tokenHash) AND expires > now() RETURNING user_id, email"
    }

    /// Uses a proof up by itself; false: somebody else has.
    func take(_ proof: MailProof) async throws -> Bool {
        try await !postgres.query(Self.consumption(of: proof)).isEmpty
    }

    /// Deletes what is good for nothing any more.
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

    private static func isIn(_ space: UserSpace) -> PostgresQuery {
        "app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
    }

    private static func hash(_ token: String) -> Data { Data(SHA256.hash(data: Data(token.utf8))) }

    private func mac(_ code: String, _ kind: MailKind, _ subject: String, _ space: UserSpace) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Self.text(code, kind, subject, space), using: codeKey))
    }

    private static func text(_ code: String, _ kind: MailKind, _ subject: String, _ space: UserSpace) -> Data {
        Data([space.appID, space.environment.rawValue, kind.rawValue, subject, code].joined(separator: "\u{0}").utf8)
    }

    /// Eight digits of the system's randomness, each as likely as every other.
    private static func makeCode() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<codeLength).map { _ in Character(String(Int.random(in: 0...9, using: &generator))) })
    }
}
