import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

/// The files of tickets. The bytes are stored before the row that refers to them.
struct AttachmentStore: Sendable {
    let tickets: TicketStore
    let files: any FileBackend

    /// The blob space of a space's attachments.
    static func blobSpace(_ space: Space) -> String { "tickets_\(space.id)" }

    /// A file whose bytes are stored, but to which no row refers yet.
    struct Stored: Sendable {
        var blob: BlobName
        var file: WrittenFile
        var name: String
        var contentType: String
    }

    /// - Throws: `payload-too-large`.
    func store<Content: AsyncSequence & Sendable>(
        _ content: Content, named name: String, declaredType: String?, upTo limitInBytes: Int, in space: Space
    ) async throws -> Stored where Content.Element == ByteBuffer {
        let blob = BlobName.random(in: Self.blobSpace(space))
        do {
            let file = try await files.write(content, to: blob, limitInBytes: limitInBytes)
            return Stored(
                blob: blob, file: file, name: name,
                contentType: ContentType.decide(declared: declaredType, prefix: file.prefix))
        } catch FileError.tooLarge(let limit) {
            throw ServiceError(.payloadTooLarge, "A file may have at most \(limit) bytes here.")
        }
    }

    /// Attaches a file to a ticket; returns the attachment as JSON.
    ///
    /// - Throws: `ticket-not-found`, `limit-exceeded`; the bytes have then been removed.
    func attach(_ stored: Stored, to number: Int, in space: Space, by author: Author) async throws -> String {
        do {
            return try await tickets.change(space, by: author) { work in
                let id = try await work.ticket(number).id
                try await work.checkCount(
                    "analytics.ticket_attachments WHERE ticket = \(id)", upTo: TicketLimits.attachmentsOfTicket,
                    "attachments per ticket")
                return try await work.attach(stored, to: id)
            }
        } catch let problem as ServiceError where problem.isCallersFault {
            // The row has certainly not been stored, so the file is removed. After any other error the row may have
            // been stored. If it was not, `TicketHousekeeping` removes the file.
            await discard([stored])
            throw problem
        }
    }

    /// Removes files to which no row refers.
    func discard(_ stored: ArraySlice<Stored>) async {
        for file in stored { try? await files.remove(file.blob) }
    }

    /// An attachment to be read.
    struct Attachment: Sendable {
        let blob: BlobName
        let name: String
        let contentType: String
        let sizeInBytes: Int
        let sha256: String
    }

    /// - Throws: `ticket-not-found`, `file-not-found`.
    func find(_ attachment: Int, of number: Int, in space: Space) async throws -> Attachment {
        let id = try await tickets.id(of: number, in: space)
        let rows = try await tickets.postgres.query(
            "SELECT blob, name, content_type, size, sha256 FROM analytics.ticket_attachments WHERE ticket = \(id) AND number = \(attachment)"
        )
        guard let row = rows.first, let blob = BlobName(space: Self.blobSpace(space), id: try row.decode(0)) else {
            throw ServiceError(.fileNotFound)
        }
        return Attachment(
            blob: blob, name: try row.decode(1), contentType: try row.decode(2), sizeInBytes: try row.decode(3),
            sha256: try row.decode(4))
    }

    /// Removes an attachment. Its bytes are removed later, so that a backup in progress still finds them.
    ///
    /// - Throws: `ticket-not-found`, `file-not-found`.
    func remove(_ attachment: Int, of number: Int, in space: Space, by author: Author) async throws {
        try await tickets.change(space, by: author) { work in
            let id = try await work.ticket(number).id
            let rows = try await work.transaction.query(
                "DELETE FROM analytics.ticket_attachments WHERE ticket = \(id) AND number = \(attachment) RETURNING name"
            )
            guard let row = rows.first else { throw ServiceError(.fileNotFound) }
            try await work.record(.detached, of: id, before: .string(try row.decode(0)))
            try await work.touch(id)
        }
    }
}

extension AttachmentStore {
    /// Removes an attachment whose bytes are lost.
    func forget(_ blob: String, in space: Space) async throws {
        try await tickets.change(space, by: .service) { work in
            let rows = try await work.transaction.query(
                """
                DELETE FROM analytics.ticket_attachments AS a USING analytics.tickets AS t
                WHERE a.blob = \(blob) AND t.id = a.ticket AND t.space = \(space.id) RETURNING t.id, a.name
                """)
            guard let row = rows.first else { return }
            let id: Int64 = try row.decode(0)
            try await work.record(.detached, of: id, before: .string(try row.decode(1)))
            try await work.touch(id)
        }
    }
}

extension TicketWork {
    /// Whether all attachments of the space, including this one, stay below a limit.
    func hasRoom(for stored: AttachmentStore.Stored, upTo limitInBytes: Int) async throws -> Bool {
        let total: Int = try await transaction.query(
            """
            SELECT coalesce(sum(f.size), 0)::bigint FROM analytics.ticket_attachments AS f JOIN analytics.tickets AS t ON t.id = f.ticket
            WHERE t.space = \(space.id)
            """)[0].decode(0)
        return total + stored.file.sizeInBytes <= limitInBytes
    }

    /// - Throws: `limit-exceeded` if the attachments of the space would exceed their total limit.
    func attach(_ stored: AttachmentStore.Stored, to id: Int64, isFeedback: Bool = false) async throws -> String {
        guard try await hasRoom(for: stored, upTo: TicketLimits.attachmentsInBytes) else {
            throw ServiceError(
                .limitExceeded,
                "The attachments of all tickets may have at most \(TicketLimits.attachmentsInBytes) bytes in total.")
        }
        let json: String = try await transaction.query(
            """
            WITH n AS (
                UPDATE analytics.tickets SET last_attachment = last_attachment + 1, updated = clock_timestamp(), generation = \(generation)
                WHERE id = \(id) RETURNING last_attachment)
            INSERT INTO analytics.ticket_attachments AS f (ticket, number, blob, name, content_type, size, sha256, author, is_feedback)
            SELECT \(id), n.last_attachment, \(stored.blob.id), \(stored.name), \(stored.contentType), \(stored.file.sizeInBytes), \(stored.file.sha256),
                \(author.text), \(isFeedback)
            FROM n RETURNING \(TicketStore.attachment)::text
            """)[0].decode(0)
        try await record(.attached, of: id, after: .string(stored.name))
        return json
    }
}
