import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// Invitations to sign up. Each can be used once.
struct InvitationStore: Sendable {
    /// The maximum number of unused invitations of one app and environment.
    static let maximumOpen = 10_000

    let postgres: PostgresClient

    struct Invitation: Sendable {
        var id: UUID
        var json: String
    }

    /// Creates an invitation. An invitation for an address gets its code when the mail is written. An invitation
    /// without an address gets its code now, and anyone with the code can use it.
    ///
    /// - Returns: Nil if there are too many.
    func create(for email: EmailAddress?, lifetimeInSeconds: Int64, in space: AppSpace) async throws -> (
        invitation: Invitation, code: String?
    )? {
        let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        let code = email == nil ? Self.makeCode() : nil
        let row = try await postgres.query(
            """
            INSERT INTO auth.invitations AS i (id, app_id, environment, email, code_hash, expires)
            SELECT \(id), \(space.appID), \(space.environment.rawValue), \(email?.text), \(code.map(Self.hash)),
                now() + \(lifetimeInSeconds) * interval '1 second'
            WHERE (
                SELECT count(*) FROM auth.invitations AS i WHERE \(Self.isIn(space)) AND used IS NULL AND expires > now()) < \(Self.maximumOpen)
            RETURNING \(Self.json)
            """
        ).first
        return try row.map { (Invitation(id: id, json: try $0.decode(0)), code) }
    }

    /// Gives an invitation a new code for its mail, replacing any former one.
    ///
    /// - Returns: Nil if the invitation was used, has expired or was withdrawn.
    func renewCode(of id: UUID, in space: AppSpace) async throws -> (code: String, secondsLeft: Int64)? {
        let code = Self.makeCode()
        let row = try await postgres.query(
            """
            UPDATE auth.invitations AS i SET code_hash = \(Self.hash(code))
            WHERE id = \(id) AND \(Self.isIn(space)) AND used IS NULL AND expires > now()
            RETURNING extract(epoch FROM expires - now())::bigint
            """
        ).first
        return try row.map { (code, try $0.decode(0)) }
    }

    /// The newest first, starting before `before`.
    func list(before: UUID?, limit: Int, in space: AppSpace) async throws -> [Invitation] {
        let position: PostgresQuery = before.map { "AND id < \($0)" } ?? ""
        return try await postgres.query(
            "SELECT id, \(Self.json) FROM auth.invitations AS i WHERE \(Self.isIn(space)) \(position) ORDER BY id DESC LIMIT \(limit)"
        ).map { Invitation(id: try $0.decode(0), json: try $0.decode(1)) }
    }

    func remove(_ id: UUID, in space: AppSpace) async throws -> Bool {
        try await postgres.execute("DELETE FROM auth.invitations AS i WHERE id = \(id) AND \(Self.isIn(space))") > 0
    }

    /// A part of the statement that creates a user: consumes the invitation if it is valid for the address.
    static func consumption(of code: String, for email: EmailAddress?, in space: AppSpace) -> PostgresQuery {
        """
        UPDATE auth.invitations AS i SET used = now()
        WHERE code_hash = \(hash(code)) AND \(isIn(space)) AND used IS NULL AND expires > now() AND (email IS NULL OR email = \(email?.text))
        RETURNING email
        """
    }

    private static func isIn(_ space: AppSpace) -> PostgresQuery {
        "i.app_id = \(space.appID) AND i.environment = \(space.environment.rawValue)"
    }

    private static let json: PostgresQuery = """
        jsonb_build_object('id', i.id, 'email', i.email, 'created', \(PostgresQuery.rfc3339("i.created")), 'expires', \(PostgresQuery.rfc3339("i.expires")),
            'used', \(PostgresQuery.rfc3339("i.used")))::text
        """

    /// 80 random bits in Crockford's 32 characters, such as `7kq4-m2xa-9f3c-e0hv`.
    private static func makeCode() -> String {
        let characters = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let code = SymmetricKey(size: .bits128).withUnsafeBytes { bytes in bytes.map { characters[Int($0 & 31)] } }
        return stride(from: 0, to: 16, by: 4).map { String(code[$0..<$0 + 4]) }.joined(separator: "-")
    }

    /// The hash ignores dashes, spaces and case.
    private static func hash(_ code: String) -> Data {
        let plain = code.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return Data(SHA256.hash(data: Data("invitation \(plain)".utf8)))
    }
}
