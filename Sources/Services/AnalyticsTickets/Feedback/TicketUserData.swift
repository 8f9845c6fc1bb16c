import AnalyticsShared
import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

/// The data that tickets have about end users: feedback given while signed in, with its pictures.
///
/// Erasing also covers feedback about the user's crash reports, which is exported together with those reports. Tickets
/// must therefore be erased before the reports.
///
/// The ticket itself belongs to the team and stays, but its title and history no longer show the feedback.
struct TicketUserData: UserDataHolder {
    static let rowsPerSlice = 100
    /// A slice of an export ends once its pictures exceed this size, before base64.
    private static let filesPerSliceInBytes = 8 << 20

    let attachments: AttachmentStore
    let spaces: Spaces

    private var tickets: TicketStore { attachments.tickets }

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await owner(request)
        // No lock is needed for the many users without feedback.
        guard try await !tickets.postgres.query(Self.selection(user, space, "SELECT ticket", limit: 1)).isEmpty else {
            return UserErasure()
        }
        let (count, blobs) = try await tickets.change(space, by: .service) { work in
            let ids: [Int] = try await work.transaction.query(
                Self.selection(user, space, "SELECT ticket", limit: Self.rowsPerSlice)
            )
            .map { try $0.decode(0) }
            return (ids.count, try await work.forget(ids))
        }
        for blob in blobs { try? await attachments.files.remove(blob) }
        return UserErasure(erased: ["feedback": count], next: count == Self.rowsPerSlice ? "feedback" : nil)
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (user, space) = try await owner(request)
        guard let after = request.after.map({ Int64($0) }) ?? 0, after >= 0 else {
            throw ServiceError(.invalidBody, "Expected a position returned by an earlier call.", field: "after")
        }
        let rows = try await tickets.postgres.query(
            """
            SELECT f.ticket, jsonb_build_object('message', f.message, 'name', f.name, 'email', f.email, 'eventId', replace(f.event_id::text, '-', ''),
                'appVersion', t.app_version, 'created', \(PostgresQuery.rfc3339("f.created")))::text
            FROM analytics.ticket_feedback AS f JOIN analytics.tickets AS t ON t.id = f.ticket
            WHERE f.space = \(space.id) AND f.user_id = \(user) AND f.ticket > \(after) ORDER BY f.ticket LIMIT \(Self.rowsPerSlice)
            """)
        var (lines, size) = (ByteBuffer(), 0)
        for row in rows {
            let id: Int64 = try row.decode(0)
            lines.writeUserData("feedback", of: .analytics, try row.decode(1))
            size += try await write(filesOf: id, in: space, into: &lines)
            if size > Self.filesPerSliceInBytes { return UserDataPortion(lines: lines, next: String(id)) }
        }
        return UserDataPortion(
            lines: lines,
            next: rows.count == Self.rowsPerSlice ? try rows.last.map { String(try $0.decode(0, as: Int64.self)) } : nil
        )
    }

    /// Writes the files of a ticket; returns their total size.
    private func write(filesOf ticket: Int64, in space: Space, into lines: inout ByteBuffer) async throws -> Int {
        var total = 0
        let rows = try await tickets.postgres.query(
            "SELECT blob, name, content_type, size FROM analytics.ticket_attachments WHERE ticket = \(ticket) AND is_feedback ORDER BY number"
        )
        for row in rows {
            guard let blob = BlobName(space: AttachmentStore.blobSpace(space), id: try row.decode(0)) else { continue }
            let size: Int = try row.decode(3)
            var bytes = ByteBuffer()
            try await attachments.files.read(blob, in: 0..<size) { bytes.writeImmutableBuffer($0) }
            let data = JSONValue.object([
                .init("name", .string(try row.decode(1))), .init("contentType", .string(try row.decode(2))),
                .init("base64", .string(Data(bytes.readableBytesView).base64EncodedString())),
            ])
            lines.writeUserData("feedbackFile", of: .analytics, data.text)
            total += size
        }
        return total
    }

    private static func selection(_ user: UUID, _ space: Space, _ what: PostgresQuery, limit: Int) -> PostgresQuery {
        """
        \(what) FROM analytics.ticket_feedback WHERE space = \(space.id) AND (user_id = \(user) OR event_id IN (
            SELECT event_id FROM analytics.crash_events
            WHERE space = \(space.id) AND person = \(Person.account(user.uuidString.lowercased(), in: space)) AND person <> 0))
        ORDER BY ticket LIMIT \(limit)
        """
    }

    private func owner(_ request: UserDataRequest) async throws -> (user: UUID, space: Space) {
        guard (1...32).contains(request.app.utf8.count) else {
            throw ServiceError(.invalidBody, "Expected the id of an app.", field: "app")
        }
        guard let user = UUID(uuidString: request.user) else {
            throw ServiceError(.invalidBody, "Expected the id of a user.", field: "user")
        }
        return (user, try await spaces.space(of: request.app, request.environment))
    }
}

extension TicketWork {
    /// Removes a user's feedback from tickets; returns the blobs that are no longer referenced.
    fileprivate func forget(_ ids: [Int]) async throws -> [BlobName] {
        let blobs: [String] = try await transaction.query(
            "DELETE FROM analytics.ticket_attachments WHERE ticket = ANY (\(ids)) AND is_feedback RETURNING blob"
        ).map { try $0.decode(0) }
        // Feedback that arrived in an envelope is also stored with the crash reports.
        try await transaction.execute(
            """
            DELETE FROM analytics.crash_feedback AS c USING analytics.ticket_feedback AS f
            WHERE f.ticket = ANY (\(ids)) AND c.space = f.space AND f.key = 'sentry:' || c.feedback_id
            """)
        try await transaction.execute("DELETE FROM analytics.ticket_feedback WHERE ticket = ANY (\(ids))")
        try await transaction.execute(
            """
            UPDATE analytics.tickets SET title = \(Feedback.untitled + " (erased)"), generation = \(generation), revision = revision + 1
            WHERE id = ANY (\(ids))
            """)
        try await transaction.execute(
            "UPDATE analytics.ticket_history SET before = NULL, after = NULL WHERE ticket = ANY (\(ids)) AND (field = 'title' OR act IN ('attached', 'detached'))"
        )
        return blobs.compactMap { BlobName(space: AttachmentStore.blobSpace(space), id: $0) }
    }
}
