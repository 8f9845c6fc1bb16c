import Foundation
import Logging
import MartletAPI
import MartletFiles
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Empties the bin, and removes blobs that no attachment has had for a week.
///
/// The week counts from when a blob was first seen without a row, so that a backup whose files were copied after its database still has them. Every
/// copy of the service may do this at any time.
struct TicketHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    private static let orphanAge: TimeInterval = 7 * 86_400
    /// A blob is written before its row; a younger one may only seem to be an orphan.
    private static let newness: TimeInterval = 3_600
    private static let pageLength = 500

    let attachments: AttachmentStore
    let logger: Logger

    private var postgres: PostgresClient { attachments.tickets.postgres }

    func work() async throws { await cleanUp(at: Date()) }

    /// What fails in one space is logged, and keeps no other from its turn.
    func cleanUp(at now: Date) async {
        do {
            let spaces = try await postgres.query(
                "SELECT s.id, s.app_id, s.environment FROM analytics.spaces AS s JOIN analytics.ticket_spaces AS t ON t.space = s.id ORDER BY s.id"
            ).map { Space(id: try $0.decode(0), appID: try $0.decode(1), environment: AppEnvironment(rawValue: try $0.decode(2)) ?? .live) }
            for space in spaces where !Task.isCancelled {
                do {
                    try await emptyBin(of: space, at: now)
                    try await noteOrphans(in: space, at: now)
                    try await removeOrphans(in: space, before: now.addingTimeInterval(-Self.orphanAge))
                } catch {
                    logger.warning("tickets not cleaned up", metadata: ["analytics.space": "\(space.id)", "error.cause": "\(error)"])
                }
            }
        } catch {
            logger.warning("tickets not cleaned up", metadata: ["error.cause": "\(error)"])
        }
    }

    private func emptyBin(of space: Space, at now: Date) async throws {
        let border = now.addingTimeInterval(-Double(TicketLimits.daysInBin) * 86_400)
        while try await !postgres.query(
            "SELECT FROM analytics.tickets WHERE space = \(space.id) AND deleted < \(border) LIMIT 1").isEmpty
        {
            try await attachments.tickets.change(space, by: .service) { work in
                _ = try await work.transaction.execute(
                    """
                    DELETE FROM analytics.tickets WHERE id IN (
                        SELECT id FROM analytics.tickets WHERE space = \(space.id) AND deleted < \(border) LIMIT \(Self.pageLength))
                    """)
            }
        }
    }

    private func noteOrphans(in space: Space, at now: Date) async throws {
        let blobs = AttachmentStore.blobSpace(space)
        try await attachments.files.removeAbandoned(before: now.addingTimeInterval(-Self.orphanAge), in: blobs)
        try await postgres.execute(
            """
            DELETE FROM analytics.ticket_orphans AS o
            WHERE o.space = \(space.id) AND EXISTS (SELECT FROM analytics.ticket_attachments AS a WHERE a.blob = o.blob)
            """)
        var cursor: String?
        repeat {
            let page = try await attachments.files.list(blobs, after: cursor, limit: Self.pageLength)
            let ids = page.blobs.filter { $0.written < now.addingTimeInterval(-Self.newness) }.map(\.id)
            if !ids.isEmpty {
                try await postgres.execute(
                    """
                    INSERT INTO analytics.ticket_orphans (space, blob, since)
                    SELECT \(space.id), b.blob, \(now) FROM unnest(\(ids)) AS b (blob)
                    WHERE NOT EXISTS (SELECT FROM analytics.ticket_attachments AS a WHERE a.blob = b.blob) ON CONFLICT DO NOTHING
                    """)
            }
            cursor = page.next
        } while cursor != nil
    }

    private func removeOrphans(in space: Space, before border: Date) async throws {
        while true {
            let ids: [String] = try await postgres.query(
                "SELECT blob FROM analytics.ticket_orphans WHERE space = \(space.id) AND since < \(border) LIMIT \(Self.pageLength)"
            ).map { try $0.decode(0) }
            for id in ids {
                guard let blob = BlobName(space: AttachmentStore.blobSpace(space), id: id) else { continue }
                try await attachments.files.remove(blob)
            }
            // Not before the bytes are gone: what is not done now is done by the next pass.
            try await postgres.execute("DELETE FROM analytics.ticket_orphans WHERE space = \(space.id) AND blob = ANY (\(ids))")
            if ids.count < Self.pageLength { return }
        }
    }
}
