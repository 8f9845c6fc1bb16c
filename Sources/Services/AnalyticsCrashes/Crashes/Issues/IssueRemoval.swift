import AnalyticsTickets
import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletJobs
import MartletPostgres

/// Removes issues and reports with everything that belongs to them.
struct IssueRemoval: Sendable {
    /// Reports deleted in one transaction.
    static let reportsPerSlice = 200

    let postgres: PostgresClient
    let queue: JobQueue
    let files: any FileBackend

    /// Hides an issue at once and enqueues a job that deletes its reports. Later reports of the same kind create a new
    /// issue.
    ///
    /// - Throws: `issue-not-found`.
    func remove(_ issue: Int64, in space: Space) async throws {
        try await postgres.withTransaction(serializationRetries: IssueChanges.retries) { transaction in
            try await IssueStore.lock([space.id], transaction)
            let removed = try await transaction.execute(
                "UPDATE analytics.issues SET deleted = now() WHERE id = \(issue) AND space = \(space.id) AND deleted IS NULL"
            )
            guard removed == 1 else { throw ServiceError(.issueNotFound) }
            try await transaction.execute("DELETE FROM analytics.issue_hashes WHERE issue = \(issue)")
            try await TicketStore.dropIssue(issue, transaction)
            try await queue.enqueue(
                RemoveIssue.self, .init(issue: issue), JobOptions(uniqueKey: String(issue)), in: transaction)
        }
    }

    /// Deletes a batch of the reports that match a condition on `crash_events AS e`. Returns their number; fewer than
    /// `reportsPerSlice` means none are left.
    ///
    /// Attachments are deleted first, so that after a failure the reports still lead to the remaining ones.
    func removeReports(where condition: PostgresQuery) async throws -> Int {
        let rows = try await postgres.query(
            """
            WITH reports AS (SELECT e.id, e.space, e.event_id FROM analytics.crash_events AS e WHERE \(condition) LIMIT \(Self.reportsPerSlice))
            SELECT r.id, r.space, a.id, a.blob FROM reports AS r
            LEFT JOIN analytics.crash_attachments AS a ON a.space = r.space AND a.event_id = r.event_id
            """)
        var attachments: [Int] = []
        for row in rows {
            guard let attachment = try row.decode(2, as: Int64?.self) else { continue }
            if let blob = BlobName(crash: try row.decode(3), in: try row.decode(1)) { try await files.remove(blob) }
            attachments.append(Int(attachment))
        }
        let reports = Set(try rows.map { try $0.decode(0, as: Int.self) })
        guard !reports.isEmpty else { return 0 }
        try await postgres.execute(
            """
            WITH gone AS (DELETE FROM analytics.crash_events WHERE id = ANY (\(Array(reports))) RETURNING space, event_id),
            attachments AS (DELETE FROM analytics.crash_attachments WHERE id = ANY (\(attachments)))
            DELETE FROM analytics.crash_feedback AS f USING gone WHERE f.space = gone.space AND f.event_id = gone.event_id
            """)
        return reports.count
    }

    /// Deletes an issue's row after all its reports are gone.
    fileprivate func finish(_ issue: Int64) async throws {
        try await postgres.execute("DELETE FROM analytics.issues WHERE id = \(issue) AND deleted IS NOT NULL")
    }
}

/// The job that deletes the reports of a removed issue.
struct RemoveIssue: JobHandler {
    static let kind = "crashes.remove-issue"
    static let retries = JobRetries(maximumAttempts: 50)

    struct Parameters: Codable, Sendable {
        var issue: Int64
    }

    let removal: IssueRemoval

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        var done = 0
        while true {
            let count = try await removal.removeReports(where: "e.issue = \(parameters.issue)")
            done += count
            guard count == IssueRemoval.reportsPerSlice else { break }
            try await job.report(JobProgress(done: done))
        }
        try await removal.finish(parameters.issue)
        return JobNoResult()
    }
}
