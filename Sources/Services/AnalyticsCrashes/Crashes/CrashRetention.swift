import Foundation
import Logging
import MartletBackground
import MartletFiles
import MartletPostgres

/// Deletes, every hour and in small batches, what is older than the retention period. Daily counts of reports and
/// sessions stay.
struct CrashRetention: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    private static let rowsPerStatement = 500
    /// Days after which no further updates of a session are expected.
    private static let sessionDays = 7

    let postgres: PostgresClient
    let files: any FileBackend
    let days: Int
    let logger: Logger

    func work() async throws { try await prune() }

    func prune() async throws {
        for (table, key, condition) in [
            ("crash_events", "id", "received < now() - make_interval(days => $)"),
            ("issue_users", "ctid", "last_seen < now() - make_interval(days => $)"),
            ("crash_session_users", "ctid", "day < current_date - $"),
            ("crash_outcomes", "ctid", "day < current_date - $"),
            ("crash_feedback", "id", "received < now() - make_interval(days => $)"),
        ] as [(StaticString, StaticString, StaticString)] {
            try await delete(table, key, condition, days)
        }
        try await delete("crash_session_states", "ctid", "updated < now() - make_interval(days => $)", Self.sessionDays)
        // Rows of spools whose folders are gone. A spool in use updates its row much more often than every 400 days.
        try await delete("crash_spools", "id", "updated < now() - make_interval(days => $)", 400)
        // Last, so that reports are deleted even while file storage is unavailable.
        try await removeAttachments()
    }

    /// - Parameter condition: SQL with `$` in place of the number of days.
    private func delete(_ table: StaticString, _ key: StaticString, _ condition: StaticString, _ days: Int) async throws
    {
        let parts = condition.description.split(separator: "$", maxSplits: 1).map {
            PostgresQuery(unescaped: String($0))
        }
        let isOld: PostgresQuery = "\(parts[0])\(Int32(days))\(parts.count > 1 ? parts[1] : "")"
        var count = Self.rowsPerStatement
        while count == Self.rowsPerStatement, !Task.isCancelled {
            count = try await postgres.execute(
                """
                DELETE FROM analytics.\(unescaped: table) WHERE \(unescaped: key) = ANY (ARRAY(
                    SELECT \(unescaped: key) FROM analytics.\(unescaped: table) WHERE \(isOld) LIMIT \(Self.rowsPerStatement)))
                """)
        }
    }

    /// Removes the bytes before the row. A row without bytes is removed at the next attempt, while bytes without a row
    /// would never be found.
    private func removeAttachments() async throws {
        while !Task.isCancelled {
            let rows = try await postgres.query(
                """
                SELECT id, space, blob FROM analytics.crash_attachments WHERE received < now() - make_interval(days => \(Int32(days)))
                ORDER BY received LIMIT \(Self.rowsPerStatement)
                """)
            guard !rows.isEmpty else { return }
            for row in rows {
                let (id, space, blob) = (
                    try row.decode(0, as: Int64.self), try row.decode(1, as: Int32.self),
                    try row.decode(2, as: String.self)
                )
                if let blob = BlobName(crash: blob, in: space) { try await files.remove(blob) }
                try await postgres.execute("DELETE FROM analytics.crash_attachments WHERE id = \(id)")
            }
        }
    }
}
