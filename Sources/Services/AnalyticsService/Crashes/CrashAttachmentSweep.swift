import Foundation
import Logging
import MartletFiles
import MartletJobs
import MartletPostgres

/// Removes bytes of attachments that no row names, and rows whose bytes are gone. Every copy of the service may do this at any time.
struct CrashAttachmentSweep: PeriodicWork {
    /// Bytes are written before their row; a spool that waits writes them again at each attempt.
    static let grace: TimeInterval = 86_400

    let postgres: PostgresClient
    let files: any FileBackend
    let logger: Logger
    let interval: Duration = .seconds(12 * 3_600)

    func work() async throws { try await cleanUp(at: Date()) }

    /// What fails in one space is logged, and keeps no other from its turn.
    func cleanUp(at now: Date) async throws {
        let spaces: [Int32] = try await postgres.query("SELECT id FROM analytics.spaces ORDER BY id").map { try $0.decode(0) }
        for space in spaces where !Task.isCancelled {
            do {
                try await cleanUp(space, before: now.addingTimeInterval(-Self.grace))
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning("crash attachments not cleaned up", metadata: ["analytics.space": "\(space)", "error.cause": "\(error)"])
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
        if let findings, findings.isException {
            lost = try await postgres.execute(
                "DELETE FROM analytics.crash_attachments WHERE space = \(space) AND blob = ANY (\(findings.lost))")
        } else if let findings {
            logger.error(
                "most files of crash attachments are missing; their rows are kept",
                metadata: ["analytics.space": "\(space)", "files.missing": "\(findings.lost.count)", "files.there": "\(findings.kept)"])
        }
        guard removed + lost > 0 else { return }
        logger.notice(
            "leftovers of crash attachments removed",
            metadata: ["analytics.space": "\(space)", "files.removed": "\(removed)", "rows.removed": "\(lost)"])
    }

    private func sweep(_ space: Int32, _ blobSpace: String) -> BlobSweep {
        BlobSweep(files: files, space: blobSpace) { [postgres] ids in
            Set(try await postgres.query("SELECT blob FROM analytics.crash_attachments WHERE blob = ANY (\(ids))").map { try $0.decode(0) as String })
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
