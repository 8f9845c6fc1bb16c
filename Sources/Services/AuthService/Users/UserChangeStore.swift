import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The users whose public profile has to be passed on to storage: the table `auth.user_changes`, which triggers of
/// `auth.users` fill in the transaction of the change.
struct UserChangeStore: Sendable {
    /// How long a copy of the service may work on a claimed change before another copy may claim the change. Also the
    /// longest pause between attempts.
    private static let maximumDelayInSeconds = 60

    let postgres: PostgresClient

    struct Change: Sendable {
        var space: AppSpace
        var user: UserDocuments.User
    }

    /// Claims the oldest changes that are due. Changes that are not removed become due again, later with each attempt.
    ///
    /// Claims the versions before it reads the users, so a user's state is never older than its version.
    func claim(upTo limit: Int) async throws -> [Change] {
        let claimed = try await postgres.query(
            """
            UPDATE auth.user_changes AS c SET attempts = attempts + 1,
                due = now() + make_interval(secs => least(\(Double(Self.maximumDelayInSeconds)), 5 * 2 ^ least(attempts, 10)))
            WHERE (user_id, app_id, environment) IN (
                SELECT user_id, app_id, environment FROM auth.user_changes WHERE due <= now() ORDER BY due LIMIT \(limit)
                FOR UPDATE SKIP LOCKED)
            RETURNING user_id, app_id, environment, version
            """)
        guard !claimed.isEmpty else { return [] }
        return try await postgres.query(
            """
            SELECT c.id, c.app, c.environment, c.version, u.user_name, u.profile::text, \(PostgresQuery.rfc3339("u.created")),
                \(PostgresQuery.rfc3339("u.updated")), u.email IS NOT NULL AND u.email_verified, u.disabled
            FROM unnest(\(try claimed.map { try $0.decode(0, as: UUID.self) }), \(try claimed.map { try $0.decode(1, as: String.self) }),
                \(try claimed.map { try $0.decode(2, as: String.self) }), \(try claimed.map { try $0.decode(3, as: Int.self) }))
                AS c (id, app, environment, version)
            LEFT JOIN auth.users AS u
                ON u.id = c.id AND u.app_id = c.app AND u.environment = c.environment AND NOT u.deleting
            """
        ).map(Self.change)
    }

    private static func change(_ row: PostgresRow) throws -> Change {
        let id: UUID = try row.decode(0)
        let environment = AppEnvironment(rawValue: try row.decode(2)) ?? .live
        let stored = try row.decode(5, as: String?.self).map { profile in
            UserDocuments.Shown(
                userName: try row.decode(4), profile: profile, created: try row.decode(6), updated: try row.decode(7),
                isEmailVerified: try row.decode(8))
        }
        let isDisabled = try row.decode(9, as: Bool?.self) ?? false
        return Change(
            space: AppSpace(appID: try row.decode(1), environment: environment),
            user: UserDocuments.User(
                id: id.uuidString.lowercased(), version: try row.decode(3), shown: isDisabled ? nil : stored,
                hidden: isDisabled ? stored : nil))
    }

    /// Removes changes that storage has stored, unless the user was changed again.
    func remove(_ users: [UserDocuments.User], in space: AppSpace) async throws {
        try await postgres.execute(
            """
            DELETE FROM auth.user_changes AS c USING unnest(\(users.compactMap { UUID(uuidString: $0.id) }),
                \(users.map { Int($0.version) }))
                AS known (id, version)
            WHERE c.user_id = known.id AND c.version = known.version AND c.app_id = \(space.appID)
                AND c.environment = \(space.environment.rawValue)
            """)
    }

    /// Adds users as if they had just changed. Returns the number of users and the last of them.
    func addUsers(after user: UUID?, limit: Int) async throws -> (count: Int, last: UUID?) {
        let position: PostgresQuery = user.map { "AND id > \($0)" } ?? ""
        let row = try await postgres.query(
            """
            WITH page AS (
                SELECT id, app_id, environment FROM auth.users WHERE NOT deleting \(position) ORDER BY id LIMIT \(limit)),
            added AS (
                INSERT INTO auth.user_changes (user_id, app_id, environment, version)
                SELECT id, app_id, environment, nextval('auth.user_versions') FROM page ON CONFLICT DO NOTHING)
            SELECT count(*), (array_agg(id ORDER BY id DESC))[1], pg_notify('martlet_user_changes', '') FROM page
            """)[0]
        return (try row.decode(0), try row.decode(1))
    }

    /// PostgreSQL's estimate of the number of users.
    func numberOfUsers() async throws -> Int {
        try await postgres.query(
            "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'auth.users'::regclass")[0].decode(0)
    }

    /// The number of changes that were claimed again because storage did not accept them, at most `limit`. Changes
    /// under way do not count, because under load there are always some.
    func waiting(upTo limit: Int) async throws -> Int {
        try await postgres.query(
            "SELECT count(*) FROM (SELECT FROM auth.user_changes WHERE attempts > 1 LIMIT \(limit)) AS waiting")[0]
            .decode(0)
    }
}
