import AnalyticsShared
import Foundation
import Logging
import MartletBackground
import MartletFiles
import MartletPostgres

/// Removes attachment bytes that no row references, and rows whose bytes are gone. Any instance of the service may run
/// it at any time.
struct CrashAttachmentSweep: PeriodicWork {
    /// The minimum age of what is removed. Bytes are written before their row, and a waiting spool writes them again at
    /// each attempt.
    static let minimumAge: TimeInterval = 86_400

    let postgres: PostgresClient
    let files: any FileBackend
    let logger: Logger
    let now: @Sendable () -> Date
    let interval: Duration = .seconds(12 * 3_600)

    func work() async throws { try await cleanUp(at: now()) }

    /// A failure in one space is logged and does not affect the others.
    func cleanUp(at now: Date) async throws {
        let spaces: [Int32] = try await postgres.query("SELECT id FROM analytics.spaces ORDER BY id").map {
            try $0.decode(0)
        }
        for space in spaces where !Task.isCancelled {
            do {
                try await cleanUp(space, before: now.addingTimeInterval(-Self.minimumAge))
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning(
                    "Could not clean up the crash attachments of a space; retrying at the next sweep.",
                    metadata: ["analytics.space": "\(space)", "error.cause": "\(error)"])
            }
        }
    }

    private func cleanUp(_ space: Int32, before date: Date) async throws {
        let blobSpace = BlobName.crashSpace(space)
        try await files.removeAbandoned(before: date, in: blobSpace)
        var removed = 0
        let findings = try await sweep(space, blobSpace).run(before: date) { ids in
            for id in ids where !Task.isCancelled {
                guard let blob = BlobName(crash: id, in: space) else { continue }
                try await files.remove(blob)
                removed += 1
            }
        }
        var lost = 0
        if let findings, findings.isPlausible {
            lost = try await postgres.execute(
                "DELETE FROM analytics.crash_attachments WHERE space = \(space) AND blob = ANY (\(findings.lost))")
        } else if let findings {
            logger.error(
                "Most files of crash attachments are missing; keeping their rows.",
                metadata: [
                    "analytics.space": "\(space)", "files.missing": "\(findings.lost.count)",
                    "files.present": "\(findings.kept)",
                ])
        }
        guard removed + lost > 0 else { return }
        logger.notice(
            "Removed orphaned files and rows of crash attachments.",
            metadata: ["analytics.space": "\(space)", "files.removed": "\(removed)", "rows.removed": "\(lost)"])
    }

    private func sweep(_ space: Int32, _ blobSpace: String) -> BlobSweep {
        BlobSweep(files: files, space: blobSpace) { [postgres] ids in
            Set(
                try await postgres.query("SELECT blob FROM analytics.crash_attachments WHERE blob = ANY (\(ids))").map {
                    try $0.decode(0) as String
                })
        } rows: { [postgres] after, end, date, limit in
            try await postgres.query(
                """
                SELECT blob FROM analytics.crash_attachments
                WHERE space = \(space) AND blob > \(after) AND (\(end)::text IS NULL OR blob <= \(end)) AND received < \(date) ORDER BY blob LIMIT \(limit)
                """
            ).map { try $0.decode(0) }
        }
    }
}
