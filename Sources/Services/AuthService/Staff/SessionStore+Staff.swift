import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The properties of a new staff session.
struct NewStaffSession: Sendable {
    let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
    let device: String
    /// If true, a refresh token lasts thirty days, otherwise twelve hours. In both cases a session ends after ninety
    /// days.
    let staysSignedIn: Bool

    fileprivate var lifetimeInHours: Int { staysSignedIn ? 720 : 12 }
}

/// An open staff session to issue tokens for.
struct IssuedStaffSession: Sendable {
    var id: UUID
    /// The number of the newest refresh token.
    var number: Int32 = 0
    /// When the member last proved their identity.
    var confirmed: Date
    /// How long a refresh token lasts.
    var lifetimeInSeconds: Int64

    /// A session that begins now.
    init(_ session: NewStaffSession, at time: Date) {
        (id, confirmed, lifetimeInSeconds) = (session.id, time, Int64(session.lifetimeInHours) * 3_600)
    }

    fileprivate init(_ id: UUID, _ row: PostgresRow) throws {
        (self.id, number) = (id, try row.decode(0))
        (confirmed, lifetimeInSeconds) = (try row.decode(1), try row.decode(2))
    }

    fileprivate static let columns: PostgresQuery = "generation, confirmed, extract(epoch FROM lifetime)::bigint"
}

extension SessionStore {
    /// The maximum number of a member's sessions. A further one ends the one that was idle the longest.
    static let maximumPerMember = 20

    /// Signs a staff member in, unless the account was disabled or the password changed in the meantime. Counts the
    /// sign-in and records it in the audit log.
    ///
    /// - Parameter provider: The provider that authenticated the member; nil for the password.
    /// - Returns: The staff member.
    func create(
        _ session: NewStaffSession, of account: StaffStore.Account, by provider: String? = nil, from address: String
    ) async throws -> String? {
        let json: String? = try await postgres.withTransaction { transaction in
            let json: String? = try await transaction.query(
                """
                WITH signed_in AS (
                    UPDATE auth.staff AS u SET last_sign_in = now()
                    WHERE u.id = \(account.id) AND u.password = \(account.passwordHash) AND NOT u.disabled RETURNING u.*
                ), session AS (
                    INSERT INTO auth.staff_sessions (id, staff_id, device, lifetime, expires)
                    SELECT \(session.id), id, \(session.device), \(session.lifetimeInHours) * interval '1 hour',
                        now() + \(session.lifetimeInHours) * interval '1 hour' FROM signed_in
                ), counted AS (
                    INSERT INTO auth.staff_sign_ins AS c (month, staff_id, user_name)
                    SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date, id, user_name FROM signed_in
                    ON CONFLICT (month, staff_id) DO UPDATE SET count = c.count + 1, user_name = excluded.user_name
                )
                SELECT \(StaffStore.json) FROM signed_in AS u
                """
            ).first?.decode(0)
            guard let json else { return nil }
            try await AuditStore(postgres: postgres).record(
                AuditEntry(
                    by: account.grant, "sign-in", .staff, target: session.id.uuidString.lowercased(),
                    after: provider.map { .object([JSONValue.Member("provider", .string($0))]) }, from: address),
                transaction)
            return json
        }
        if json != nil { try await staff.endLeastRecentlyUsed(of: account.id, beyond: Self.maximumPerMember) }
        return json
    }

    /// Replaces the refresh token `content` of a staff member.
    func refreshStaff(_ content: RefreshTokens.Content) async throws -> SessionTable.Refresh {
        try await staff.refresh(content, where: "TRUE")
    }

    /// The session with its newest refresh token; nil if it has ended.
    func issued(_ session: UUID, of staff: UUID) async throws -> IssuedStaffSession? {
        try await postgres.query(
            """
            SELECT \(IssuedStaffSession.columns) FROM auth.staff_sessions
            WHERE id = \(session) AND staff_id = \(staff) AND revoked IS NULL AND expires > now()
            """
        ).first.map { try IssuedStaffSession(session, $0) }
    }

    /// Stores that the member has proved their identity again, with an entry in the audit log. Nil if the session has
    /// ended.
    func confirm(_ session: UUID, of person: Person) async throws -> IssuedStaffSession? {
        try await postgres.withTransaction { transaction in
            let row = try await transaction.query(
                """
                UPDATE auth.staff_sessions SET confirmed = now()
                WHERE id = \(session) AND staff_id = \(person.id) AND revoked IS NULL AND expires > now()
                RETURNING \(IssuedStaffSession.columns)
                """
            ).first
            guard let row else { return nil }
            try await person.record("confirm", target: session, transaction)
            return try IssuedStaffSession(session, row)
        }
    }

    /// JSON objects `{"month","count","staff":[{"id","userName","count"}]}` for a range of months (`YYYY-MM`,
    /// inclusive), newest first.
    func signInsByMonth(from first: String, to last: String) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'month', to_char(month, 'YYYY-MM'), 'count', sum(count),
                'staff', jsonb_agg(jsonb_build_object('id', staff_id, 'userName', user_name, 'count', count) ORDER BY user_name))::text
            FROM auth.staff_sign_ins
            WHERE month BETWEEN to_date(\(first), 'YYYY-MM') AND to_date(\(last), 'YYYY-MM')
            GROUP BY month ORDER BY month DESC LIMIT 120
            """
        ).map { try $0.decode(0) }
    }
}
