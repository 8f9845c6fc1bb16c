import Foundation
import MartletPostgres

/// Releases and their crash-free rates.
struct ReleaseHealth: Sendable {
    static let maximumDays = 90

    let postgres: PostgresClient

    /// A page of releases, newest first: when they were seen, the number of issues first seen in them, and for the last
    /// `days` days (UTC, including today) their sessions and users with the crash-free percentage of each, null if
    /// there were none.
    ///
    /// A session counts on the day it began. A person who used a release on several days is one user of it.
    ///
    /// - Parameter stage: Sentry's environment; nil combines all of them.
    func list(days: Int, stage: String?, name: String?, offset: Int, limit: Int, in space: Space) async throws
        -> [String]
    {
        let stages: PostgresQuery = stage.map { "AND s.stage = \($0)" } ?? ""
        let names: PostgresQuery = name.map { "AND (r.name = \($0) OR r.version = \($0))" } ?? ""
        return try await postgres.query(
            """
            WITH page AS (
                SELECT * FROM analytics.releases AS r WHERE r.space = \(space.id) \(names)
                ORDER BY r.sort_key DESC NULLS LAST, r.first_seen DESC, r.id DESC LIMIT \(limit) OFFSET \(offset)),
            since AS (SELECT (now() AT TIME ZONE 'UTC')::date - \(Int32(days - 1)) AS day),
            sessions AS (
                SELECT s.release, sum(s.sessions) AS sessions, sum(s.errored) AS errored, sum(s.crashed) AS crashed, sum(s.abnormal) AS abnormal
                FROM analytics.crash_sessions AS s, since
                WHERE s.space = \(space.id) AND s.day >= since.day \(stages) AND s.release IN (SELECT id FROM page) GROUP BY 1),
            users AS (
                SELECT s.release, count(DISTINCT s.person) AS users, count(DISTINCT s.person) FILTER (WHERE s.crashed) AS crashed
                FROM analytics.crash_session_users AS s, since
                WHERE s.space = \(space.id) AND s.day >= since.day \(stages) AND s.release IN (SELECT id FROM page) GROUP BY 1),
            began AS (
                SELECT first_release AS release, count(*) AS issues FROM analytics.issues
                WHERE space = \(space.id) AND deleted IS NULL AND first_release IN (SELECT id FROM page) GROUP BY 1),
            seen AS (
                SELECT ir.release, count(*) AS issues, sum(ir.events) AS events
                FROM analytics.issue_releases AS ir JOIN analytics.issues AS i ON i.id = ir.issue
                WHERE i.space = \(space.id) AND i.deleted IS NULL AND ir.release IN (SELECT id FROM page) GROUP BY 1)
            SELECT jsonb_build_object(
                'name', p.name, 'version', p.version, 'build', p.build, 'firstSeen', \(PostgresQuery.rfc3339("p.first_seen")),
                'released', \(PostgresQuery.rfc3339("p.released")),
                'lastSeen', \(PostgresQuery.rfc3339("p.last_seen")), 'newIssues', coalesce(b.issues, 0), 'issues', coalesce(e.issues, 0),
                'events', coalesce(e.events, 0), 'days', \(Int32(days)),
                'sessions', coalesce(s.sessions, 0), 'errored', coalesce(s.errored, 0), 'crashed', coalesce(s.crashed, 0),
                'abnormal', coalesce(s.abnormal, 0), 'users', coalesce(u.users, 0), 'crashedUsers', coalesce(u.crashed, 0),
                'crashFreeSessions', round(100 * (1 - s.crashed::numeric / nullif(s.sessions, 0)), 3),
                'crashFreeUsers', round(100 * (1 - u.crashed::numeric / nullif(u.users, 0)), 3))::text
            FROM page AS p LEFT JOIN sessions AS s ON s.release = p.id LEFT JOIN users AS u ON u.release = p.id
            LEFT JOIN began AS b ON b.release = p.id LEFT JOIN seen AS e ON e.release = p.id
            ORDER BY p.sort_key DESC NULLS LAST, p.first_seen DESC, p.id DESC
            """
        ).map { try $0.decode(0) }
    }
}
