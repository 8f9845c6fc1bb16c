import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

struct AddAttachment: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/attachments", "addAttachment", "Attaches a file of at most 20 MiB to a ticket.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .query("name", .string.maxLength(200), isRequired: true),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The attachment as stored.", .json(.object))
        ],
        errors: [
            404: "The app has no such ticket (`ticket-not-found`).",
            413: "The file has more than 20 MiB (`payload-too-large`).",
        ])

    let access: TicketAccess
    let attachments: AttachmentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let name = try request.fileName
        let body = try CompleteBody(request, limitInBytes: TicketLimits.attachmentInBytes)
        // A missing ticket is refused before the file is stored.
        _ = try await attachments.tickets.id(of: number, in: caller.space)
        let stored = try await attachments.store(
            body, named: name, declaredType: request.headers[.contentType], upTo: TicketLimits.attachmentInBytes,
            in: caller.space)
        let json = try await attachments.attach(stored, to: number, in: caller.space, by: caller.author)
        return .json(ByteBuffer(string: json), status: .created)
    }
}

extension Request {
    /// - Throws: `invalid-parameter`.
    fileprivate var fileName: String {
        get throws {
            let name = uri.queryParameters["name"].map { String($0).trimmingCharacters(in: .whitespaces) } ?? ""
            guard (1...200).contains(name.unicodeScalars.count), !name.contains("/"), !name.contains("\\"),
                !name.unicodeScalars.contains(where: { TicketInput.isControl($0) || $0.properties.isBidiControl })
            else {
                throw ServiceError(
                    .invalidParameter,
                    "Expected a file's name of 1 to 200 characters, without slashes and control characters.",
                    field: "name")
            }
            return name
        }
    }
}

/// Only types such as images are displayed by browsers; all others are downloaded.
struct ReadAttachment: Endpoint {
    static let route = Route(
        .get, "/tickets/{ticket}/attachments/{attachment}", "readAttachment", "Returns the content of an attachment.",
        callers: .manager(.read, .tickets),
        parameters: [
            .ticket,
            .path("attachment", .integer),
        ],
        answers: [
            .answer(200, "The file, with its content type.", .type("*/*", .bytes)),
            .answer(304, "The file still has the `ETag` in `If-None-Match`."),
        ],
        errors: [404: "There is no such ticket or attachment (`ticket-not-found`, `file-not-found`)."])

    let access: TicketAccess
    let attachments: AttachmentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .read)
        let found = try await attachments.find(try context.attachment, of: number, in: caller.space)
        let tag = EntityTag(text: found.sha256)
        // Uploaded content must never act as a page of this server: browsers may not guess its type, and it may not
        // load or run anything.
        var headers: HTTPFields = [
            .eTag: tag.header, .cacheControl: "private, no-cache", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'; style-src 'unsafe-inline'",
            .contentDisposition: ContentDisposition.header(
                isInline: ContentType.isInline(found.contentType), name: found.name),
        ]
        if try request.knows(tag) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] =
            found.contentType.hasPrefix("text/") ? found.contentType + "; charset=utf-8" : found.contentType
        let files = attachments.files
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(contentLength: found.sizeInBytes) { writer in
                try await files.read(found.blob, in: 0..<found.sizeInBytes) { try await writer.write($0) }
                try await writer.finish(nil)
            })
    }
}

struct DeleteAttachment: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/attachments/{attachment}", "deleteAttachment", "Deletes an attachment of a ticket.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .path("attachment", .integer),
        ],
        answers: [
            .answer(204, "The attachment is deleted.")
        ],
        errors: [404: "There is no such ticket or attachment (`ticket-not-found`, `file-not-found`)."])

    let access: TicketAccess
    let attachments: AttachmentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        try await attachments.remove(try context.attachment, of: number, in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var attachment: Int {
        get throws {
            guard let number = TicketInput.number(self, "attachment") else { throw ServiceError(.fileNotFound) }
            return number
        }
    }
}
