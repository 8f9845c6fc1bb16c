import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/{ticket}/comments` and `GET /tickets/{ticket}/history` with `after` and `limit` (1…500, 100): in their
/// order.
struct ListOfTicket: Endpoint {
    enum What: Sendable {
        case comments, history
    }

    let access: TicketAccess
    let tickets: TicketStore
    let what: What

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(
            request, context, to: .read, parameters: ["after", "limit"])
        let limit = try request.number("limit", default: 100, in: 1...500)
        let after = try request.number("after", default: 0, in: 0...Int.max)
        let list =
            switch what {
            case .comments: try await tickets.comments(on: number, after: after, limit: limit + 1, in: visitor.space)
            case .history: try await tickets.history(of: number, after: after, limit: limit + 1, in: visitor.space)
            }
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.number) } : nil)
    }
}

/// `POST /tickets/{ticket}/comments` with `{"text"}`: 201 with the comment.
struct AddComment: Endpoint {
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update)
        let text = try await request.commentText
        return .json(
            ByteBuffer(string: try await tickets.comment(text, on: number, in: visitor.space, by: visitor.author)),
            status: .created)
    }
}

/// `PATCH /tickets/{ticket}/comments/{comment}` with `{"text"}`, by who wrote it.
struct EditComment: Endpoint {
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update)
        let comment = try context.comment
        let text = try await request.commentText
        return .json(try await tickets.editComment(comment, text, on: number, in: visitor.space, by: visitor.author))
    }
}

/// `DELETE /tickets/{ticket}/comments/{comment}`, by who wrote it or may delete tickets. 204.
struct DeleteComment: Endpoint {
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update)
        let isModerator = (try? context.author(may: .delete, .tickets)) != nil
        try await tickets.deleteComment(
            try context.comment, on: number, isModerator: isModerator, in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var comment: Int {
        get throws {
            guard let number = TicketInput.number(self, "comment") else { throw HTTPProblem(.commentNotFound) }
            return number
        }
    }
}

extension Request {
    fileprivate var commentText: String {
        get async throws {
            let fields = try await BodyFields(self, ["text"], upTo: TicketBody.maximumSizeInBytes)
            guard let text = try TicketInput.text(fields, "text", from: 1, upTo: TicketLimits.comment) else {
                throw HTTPProblem(.invalidBody, "This field is required.", field: "text")
            }
            return text
        }
    }
}
