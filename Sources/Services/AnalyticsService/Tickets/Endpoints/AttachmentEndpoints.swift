import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

/// `POST /tickets/{ticket}/attachments?name=` with the file as the body: 201 with its record.
struct AddAttachment: Endpoint {
    let access: TicketAccess
    let attachments: AttachmentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update, parameters: ["name"])
        let name = try request.fileName
        let body = try CompleteBody(request, limitInBytes: TicketLimits.attachmentInBytes)
        // Nobody's bytes are stored for a ticket that is not there.
        _ = try await attachments.tickets.id(of: number, in: visitor.space)
        let stored = try await attachments.store(
            body, named: name, declaredType: request.headers[.contentType], upTo: TicketLimits.attachmentInBytes,
            in: visitor.space)
        let json = try await attachments.attach(stored, to: number, in: visitor.space, by: visitor.author)
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
                throw HTTPProblem(
                    .invalidParameter, "A file has a name of 1 to 200 characters, without slashes.", field: "name")
            }
            return name
        }
    }
}

/// `GET /tickets/{ticket}/attachments/{attachment}`: the bytes. Only pictures and the like are shown in place;
/// everything else is saved.
struct ReadAttachment: Endpoint {
    let access: TicketAccess
    let attachments: AttachmentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .read)
        let found = try await attachments.find(try context.attachment, of: number, in: visitor.space)
        let tag = EntityTag(text: found.sha256)
        // Content of others, never a page of ours: no guessing of its type, nothing loaded or run.
        var headers: HTTPFields = [
            .eTag: tag.header, .cacheControl: "private, no-cache", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'; style-src 'unsafe-inline'",
            .contentDisposition: ContentDisposition.header(
                isInline: ContentType.isInline(found.contentType), name: found.name),
        ]
        if let known = request.headers[.ifNoneMatch], try EntityTag.list(known)?.contains(tag) ?? true {
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

/// `DELETE /tickets/{ticket}/attachments/{attachment}`. 204.
struct DeleteAttachment: Endpoint {
    let access: TicketAccess
    let attachments: AttachmentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update)
        try await attachments.remove(try context.attachment, of: number, in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var attachment: Int {
        get throws {
            guard let number = TicketInput.number(self, "attachment") else { throw HTTPProblem(.fileNotFound) }
            return number
        }
    }
}
