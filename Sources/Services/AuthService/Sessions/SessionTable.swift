import Foundation
import MartletPostgres

/// A table of sessions of users or staff, each with a family of refresh tokens (RFC 9700 §4.14).
///
/// In all conditions, `s` is the row of a session and `u` the row of its person.
struct SessionTable: Sendable {
    /// How long after its replacement a token still gets the same answer.
    private static let graceInSeconds: Int64 = 10

    let postgres: PostgresClient
    let name: PostgresQuery
    /// The table of people, and the column of a session that names its person.
    let people: PostgresQuery
    let person: PostgresQuery
    /// The person's own view.
    let personJSON: PostgresQuery
    /// The new expiry of a session that is refreshed now.
    let renewal: PostgresQuery

    struct Refreshed: Sendable {
        var userID: UUID
        /// The number of the newest refresh token.
        var number: Int32
        /// The user's own view.
        var user: String
    }

    enum Refresh: Sendable {
        case refreshed(Refreshed)
        /// There is no such session, it has ended, or its user is disabled.
        case refused
        /// The token had already been replaced, so there is a copy of it. The session has been ended.
        case reused(userID: UUID)
    }

    /// Replaces the refresh token `content`.
    func refresh(_ content: RefreshTokens.Content, where condition: PostgresQuery) async throws -> Refresh {
        let row = try await postgres.query(
            """
            UPDATE \(name) AS s SET generation = generation + 1, rotated = now(), expires = \(renewal)
            FROM \(people) AS u
            WHERE s.id = \(content.session) AND s.generation = \(content.number) AND s.revoked IS NULL AND s.expires > now()
                AND u.id = s.\(person) AND NOT u.disabled AND \(condition)
            RETURNING u.id, s.generation, \(personJSON)
            """
        ).first
        if let row {
            return .refreshed(Refreshed(userID: try row.decode(0), number: try row.decode(1), user: try row.decode(2)))
        }
        return try await handleOutdated(content, where: condition)
    }

    /// Handles a token that is not the newest. Either the answer with the newest token was lost, or this token is a
    /// copy.
    private func handleOutdated(_ content: RefreshTokens.Content, where condition: PostgresQuery) async throws
        -> Refresh
    {
        let row = try await postgres.query(
            """
            SELECT u.id, s.generation, \(personJSON), s.rotated > now() - \(Self.graceInSeconds) * interval '1 second'
            FROM \(name) AS s JOIN \(people) AS u ON u.id = s.\(person)
            WHERE s.id = \(content.session) AND s.revoked IS NULL AND s.expires > now() AND NOT u.disabled AND \(condition)
            """
        ).first
        guard let row else { return .refused }
        let (userID, newest): (UUID, Int32) = (try row.decode(0), try row.decode(1))
        if content.number == newest - 1, try row.decode(3) {
            return .refreshed(Refreshed(userID: userID, number: newest, user: try row.decode(2)))
        }
        // A number higher than the newest was never issued, unless the database was restored from a backup. It does not
        // indicate a copy.
        guard content.number < newest else { return .refused }
        try await postgres.execute(
            "UPDATE \(name) SET revoked = now() WHERE id = \(content.session) AND revoked IS NULL")
        return .reused(userID: userID)
    }

    /// The person's open sessions as JSON objects, newest first.
    func list(of id: UUID, current: String?, where condition: PostgresQuery) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'id', s.id, 'device', s.device, 'current', s.id::text = \(current ?? ""),
                'created', \(PostgresQuery.rfc3339("s.created")), 'lastUsed', \(PostgresQuery.rfc3339("s.rotated")))::text
            FROM \(name) AS s JOIN \(people) AS u ON u.id = s.\(person)
            WHERE s.\(person) = \(id) AND s.revoked IS NULL AND s.expires > now() AND \(condition)
            ORDER BY s.created DESC, s.id LIMIT 100
            """
        ).map { try $0.decode(0) }
    }

    /// The statement that ends one session of the person, or all but `kept`.
    func ending(_ session: UUID?, except kept: UUID?, of id: UUID, where condition: PostgresQuery) -> PostgresQuery {
        """
        UPDATE \(name) AS s SET revoked = now() FROM \(people) AS u
        WHERE s.\(person) = \(id) AND u.id = s.\(person) AND \(condition) AND s.revoked IS NULL AND s.expires > now()
            AND s.id = coalesce(\(session), s.id) AND s.id IS DISTINCT FROM \(kept)::uuid
        """
    }

    /// Ends the sessions beyond `maximum`, the longest idle first.
    func endLeastRecentlyUsed(of id: UUID, beyond maximum: Int) async throws {
        try await postgres.execute(
            """
            UPDATE \(name) SET revoked = now() WHERE revoked IS NULL AND id IN (
                SELECT id FROM \(name) WHERE \(person) = \(id) AND revoked IS NULL AND expires > now()
                ORDER BY rotated DESC OFFSET \(maximum))
            """)
    }

    /// Deletes sessions that ended long ago.
    func clean() async throws {
        try await postgres.execute(
            "DELETE FROM \(name) WHERE least(revoked, expires) < now() - interval '7 days'", timeout: .seconds(120))
    }
}
