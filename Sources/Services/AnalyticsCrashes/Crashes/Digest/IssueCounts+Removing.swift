import Foundation
import MartletPostgres
import MartletSentry

extension IssueCounts {
    /// Subtracts a report from the counts of the issue it has left.
    func remove(_ placed: DigestStore.Placed, from issue: Int64) async throws {
        let report = placed.report
        try await transaction.execute(
            "UPDATE analytics.issue_days SET events = events - 1 WHERE issue = \(issue) AND day = date '1970-01-01' + \(report.at.day)::integer"
        )
        if let release = placed.release {
            try await transaction.execute(
                "UPDATE analytics.issue_releases SET events = events - 1 WHERE issue = \(issue) AND release = \(release.id)"
            )
        }
        try await transaction.execute(
            """
            UPDATE analytics.issue_tags AS t SET events = t.events - 1
            FROM unnest(\(report.tags.map(\.key)), \(report.tags.map(\.value))) AS q (key, value)
            WHERE t.issue = \(issue) AND t.key = q.key AND t.value = q.value
            """)
        for table in ["issue_days", "issue_releases", "issue_tags"] as [StaticString] {
            try await transaction.execute(
                "DELETE FROM analytics.\(unescaped: table) WHERE issue = \(issue) AND events <= 0")
        }
        let users = try await transaction.execute(
            """
            DELETE FROM analytics.issue_users WHERE issue = \(issue) AND person = \(report.person)
                AND NOT EXISTS (SELECT FROM analytics.crash_events WHERE issue = \(issue) AND person = \(report.person))
            """)
        try await transaction.execute(
            "UPDATE analytics.issues SET events = events - 1, users = users - \(users) WHERE id = \(issue)")
    }
}
