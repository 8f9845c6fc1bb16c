import AnalyticsShared
import Foundation
import Logging
import MartletAPI
import MartletBackground
import MartletFiles
import MartletHTTP
import MartletPostgres

/// Empties the bin, and removes blobs that no attachment has referenced for a week, and attachments whose bytes are
/// lost.
///
/// The week starts when a blob is first found without a row. So a backup that copies the database before the files
/// still contains all files that the database refers to. Any number of instances may run it at any time.
struct TicketHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    private static let orphanAge: TimeInterval = 7 * 86_400
    /// The minimum age of an orphan. A younger blob may still get its row, because blobs are written before their rows.
    private static let minimumAge: TimeInterval = 86_400
    private static let pageLength = 500

    let attachments: AttachmentStore
    let logger: Logger
    let now: @Sendable () -> Date

    private var postgres: PostgresClient { attachments.tickets.postgres }

    func work() async throws { await cleanUp(at: now()) }

    /// A failure in one space is logged and does not affect the others.
    func cleanUp(at now: Date) async {
        do {
            let spaces = try await postgres.query(
                "SELECT s.id, s.app_id, s.environment FROM analytics.spaces AS s JOIN analytics.ticket_spaces AS t ON t.space = s.id ORDER BY s.id"
            ).map {
                Space(
                    id: try $0.decode(0), appID: try $0.decode(1),
                    environment: AppEnvironment(rawValue: try $0.decode(2)) ?? .live)
            }
            for space in spaces where !Task.isCancelled {
                do {
                    try await emptyBin(of: space, at: now)
                    try await compare(space, at: now)
                    try await removeOrphans(in: space, before: now.addingTimeInterval(-Self.orphanAge))
                } catch {
                    logger.warning(
                        "Could not clean up tickets of a space; retrying in the next pass.",
                        metadata: ["analytics.space": "\(space.id)", "error.cause": "\(error)"])
                }
            }
        } catch {
            logger.warning(
                "Could not clean up tickets; retrying in the next pass.", metadata: ["error.cause": "\(error)"])
        }
    }

    private func emptyBin(of space: Space, at now: Date) async throws {
        let cutoff = now.addingTimeInterval(-Double(TicketLimits.daysInBin) * 86_400)
        while try await !postgres.query(
            "SELECT FROM analytics.tickets WHERE space = \(space.id) AND deleted < \(cutoff) LIMIT 1"
        ).isEmpty {
            try await attachments.tickets.change(space, by: .service) { work in
                _ = try await work.transaction.execute(
                    """
                    DELETE FROM analytics.tickets WHERE id IN (
                        SELECT id FROM analytics.tickets WHERE space = \(space.id) AND deleted < \(cutoff) LIMIT \(Self.pageLength))
                    """)
            }
        }
    }

    /// Records blobs without a row, and removes attachments whose bytes are lost.
    private func compare(_ space: Space, at now: Date) async throws {
        try await attachments.files.removeAbandoned(
            before: now.addingTimeInterval(-Self.orphanAge), in: AttachmentStore.blobSpace(space))
        try await postgres.execute(
            """
            DELETE FROM analytics.ticket_orphans AS o
            WHERE o.space = \(space.id) AND EXISTS (SELECT FROM analytics.ticket_attachments AS a WHERE a.blob = o.blob)
            """)
        let findings = try await sweep(space).run(before: now.addingTimeInterval(-Self.minimumAge)) { ids in
            try await postgres.execute(
                """
                INSERT INTO analytics.ticket_orphans (space, blob, since) SELECT \(space.id), b, \(now) FROM unnest(\(ids)) AS b ON CONFLICT DO NOTHING
                """)
        }
        if let findings, !findings.lost.isEmpty { try await remove(findings, in: space) }
    }

    /// Removes attachments whose bytes are lost and records the removal in the tickets' histories. Does nothing if most
    /// attachments are missing, because then the storage is probably at fault.
    private func remove(_ findings: BlobSweep.Findings, in space: Space) async throws {
        let numbers: Logger.Metadata = [
            "analytics.space": "\(space.id)", "files.missing": "\(findings.lost.count)",
            "files.present": "\(findings.kept)",
        ]
        guard findings.isPlausible else {
            return logger.error("Most files of tickets are missing; keeping their attachments.", metadata: numbers)
        }
        for blob in findings.lost where !Task.isCancelled { try await attachments.forget(blob, in: space) }
        logger.notice("Removed attachments of tickets whose files are missing.", metadata: numbers)
    }

    private func removeOrphans(in space: Space, before cutoff: Date) async throws {
        var removed = 0
        defer {
            if removed > 0 {
                logger.notice(
                    "Removed files that belong to no ticket.",
                    metadata: ["analytics.space": "\(space.id)", "files.removed": "\(removed)"])
            }
        }
        while !Task.isCancelled {
            let ids: [String] = try await postgres.query(
                "SELECT blob FROM analytics.ticket_orphans WHERE space = \(space.id) AND since < \(cutoff) LIMIT \(Self.pageLength)"
            ).map { try $0.decode(0) }
            for id in ids {
                guard let blob = BlobName(space: AttachmentStore.blobSpace(space), id: id) else { continue }
                try await attachments.files.remove(blob)
                removed += 1
            }
            // Deleted after the bytes, so that the next pass continues where this one was interrupted.
            try await postgres.execute(
                "DELETE FROM analytics.ticket_orphans WHERE space = \(space.id) AND blob = ANY (\(ids))")
            if ids.count < Self.pageLength { return }
        }
    }

    private func sweep(_ space: Space) -> BlobSweep {
        BlobSweep(files: attachments.files, space: AttachmentStore.blobSpace(space)) { [postgres] ids in
            Set(
                try await postgres.query("SELECT blob FROM analytics.ticket_attachments WHERE blob = ANY (\(ids))").map
                { try $0.decode(0) as String })
        } rows: { [postgres] after, end, date, limit in
            try await postgres.query(
                """
                SELECT a.blob FROM analytics.ticket_attachments AS a JOIN analytics.tickets AS t ON t.id = a.ticket
                WHERE t.space = \(space.id) AND a.blob > \(after) AND (\(end)::text IS NULL OR a.blob <= \(end)) AND a.created < \(date)
                ORDER BY a.blob LIMIT \(limit)
                """
            ).map { try $0.decode(0) }
        }
    }
}
