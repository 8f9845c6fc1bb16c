import AnalyticsShared
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The crash data of end users: reports that name them by their id, with attachments and feedback, and their entries in
/// user counts.
struct CrashUserData: UserDataHolder {
    static let reportsPerSlice = 50

    let postgres: PostgresClient
    let spaces: Spaces
    let removal: IssueRemoval

    /// Deletes whole reports, because breadcrumbs and contexts can mention the user anywhere. The reports stay in the
    /// event counts; the user is removed from the user counts of issues and releases.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (person, space) = try await owner(request)
        let count = try await removal.removeReports(where: Self.reports(of: person, in: space))
        guard count < IssueRemoval.reportsPerSlice else {
            return UserErasure(erased: ["crashReports": count], next: "reports")
        }
        try await postgres.withTransaction(serializationRetries: IssueChanges.retries) { transaction in
            try await IssueStore.lock([space.id], transaction)
            try await transaction.execute(
                """
                WITH gone AS (
                    DELETE FROM analytics.issue_users AS u USING analytics.issues AS i
                    WHERE u.person = \(person) AND i.id = u.issue AND i.space = \(space.id) RETURNING u.issue),
                counted AS (
                    UPDATE analytics.issues SET users = greatest(users - 1, 0), ignored_until_users = ignored_until_users - 1
                    WHERE id IN (SELECT issue FROM gone))
                DELETE FROM analytics.crash_session_users WHERE space = \(space.id) AND person = \(person)
                """)
        }
        return UserErasure(erased: count > 0 ? ["crashReports": count] : [:])
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (person, space) = try await owner(request)
        guard let after = request.after.map({ Int64($0) }) ?? 0, after >= 0 else {
            throw ServiceError(.invalidBody, "Expected a position returned by an earlier call.", field: "after")
        }
        let rows = try await postgres.query(
            """
            SELECT e.id, jsonb_build_object('service', 'analytics', 'kind', 'crashReport', 'data', jsonb_build_object(
                'id', replace(e.event_id::text, '-', ''), 'received', \(PostgresQuery.rfc3339("e.received")), 'time', \(PostgresQuery.rfc3339("e.at")),
                'content', e.content, 'feedback', coalesce((SELECT jsonb_agg(jsonb_build_object('name', f.name, 'email', f.email, 'message', f.message))
                    FROM analytics.crash_feedback AS f WHERE f.space = e.space AND f.event_id = e.event_id), '[]')))::text
            FROM analytics.crash_events AS e WHERE \(Self.reports(of: person, in: space)) AND e.id > \(after) ORDER BY e.id LIMIT \(Self.reportsPerSlice)
            """)
        var lines = ByteBuffer()
        var last: Int64?
        for row in rows {
            lines.writeString(try row.decode(1, as: String.self) + "\n")
            last = try row.decode(0)
        }
        return UserDataPortion(lines: lines, next: rows.count == Self.reportsPerSlice ? last.map { String($0) } : nil)
    }

    private static func reports(of person: Int64, in space: Space) -> PostgresQuery {
        "e.space = \(space.id) AND e.person = \(person)"
    }

    private func owner(_ request: UserDataRequest) async throws -> (person: Int64, space: Space) {
        guard (1...32).contains(request.app.utf8.count) else {
            throw ServiceError.unexpectedMember("app", expected: "an app's id", found: request.app)
        }
        guard let user = UUID(uuidString: request.user) else {
            throw ServiceError.unexpectedMember("user", expected: "a user's id (a UUID)", found: request.user)
        }
        let space = try await spaces.space(of: request.app, request.environment)
        return (Person.account(user.uuidString.lowercased(), in: space), space)
    }
}
