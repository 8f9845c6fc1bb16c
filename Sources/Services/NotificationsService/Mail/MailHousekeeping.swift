import Foundation
import Logging
import MartletBackground
import MartletPostgres

/// Deletes old records of mail and ends mail that is stuck in the queue. Any number of instances may run this at any
/// time.
struct MailHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    private static let pageLength = 1_000
    /// Longer than all attempts take. If a slow server receives more mail than it accepts within this time, the rest
    /// fails.
    private static let longestWaitInSeconds: Int64 = 86_400

    let postgres: PostgresClient
    let retentionInDays: Int
    let logger: Logger
    let now: @Sendable () -> Date

    func work() async throws { try await cleanUp(at: now()) }

    func cleanUp(at now: Date) async throws {
        let queueCutoff = now.addingTimeInterval(-Double(Self.longestWaitInSeconds))
        while try await postgres.execute(
            """
            UPDATE notifications.mails SET state = 'failed', reason = coalesce(reason, 'given up'), content = NULL, finished = now()
            WHERE id IN (SELECT id FROM notifications.mails WHERE state = 'queued' AND created < \(queueCutoff) LIMIT \(Self.pageLength))
            """) == Self.pageLength
        {}
        let cutoff = now.addingTimeInterval(-Double(retentionInDays) * 86_400)
        for space: Int32 in try await postgres.query("SELECT id FROM notifications.spaces ORDER BY id").map({
            try $0.decode(0)
        }) {
            while try await postgres.execute(
                """
                DELETE FROM notifications.mails WHERE id IN (
                    SELECT id FROM notifications.mails
                    WHERE space = \(space) AND created < \(cutoff) AND state <> 'queued' LIMIT \(Self.pageLength))
                """) == Self.pageLength
            {}
        }
    }
}
