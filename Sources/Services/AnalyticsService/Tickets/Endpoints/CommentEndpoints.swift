import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/{ticket}/comments` and `GET /tickets/{ticket}/history` with `after` and `limit` (1…500, 100): in their
/// order.
struct ListOfTicket: Endpoint {
    static let route = Route(
        .get, "/tickets/{ticket}/history", "readTicketHistory", "Who did what, oldest first.",
        callers: .manager(.read, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .query("after", .integer, "`next` of the page before."),
            .query("limit", .integer, "Of the page."),
        ],
        answers: [
            .answer(
                200, "A page.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .object),
                            "next": .string,
                        ])))
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`)."])
    static let listComments = Route(
        .get, "/tickets/{ticket}/comments", "listComments", "Comments in their order.",
        callers: .manager(.read, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .query("after", .integer, "`next` of the page before."),
            .query("limit", .integer, "Of the page."),
        ],
        answers: [
            .answer(
                200, "A page.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .ticketComment),
                            "next": .string,
                        ])))
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`)."])

    enum What: Sendable {
        case comments, history
    }

    let access: TicketAccess
    let tickets: TicketStore
    let what: What

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .read)
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
    static let route = Route(
        .post, "/tickets/{ticket}/comments", "addComment", "Adds a comment.", callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`.")
        ],
        body: .json(
            .object(
                [
                    "text": .string.maxLength(20_000)
                ], required: ["text"])),
        answers: [
            .answer(201, "The comment.", .json(.ticketComment))
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        let text = try await request.commentText
        return .json(
            ByteBuffer(string: try await tickets.comment(text, on: number, in: visitor.space, by: visitor.author)),
            status: .created)
    }
}

/// `PATCH /tickets/{ticket}/comments/{comment}` with `{"text"}`, by who wrote it.
struct EditComment: Endpoint {
    static let route = Route(
        .patch, "/tickets/{ticket}/comments/{comment}", "editComment", "By who wrote it.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .path("comment", .integer),
        ],
        body: .json(
            .object(
                [
                    "text": .string.maxLength(20_000)
                ], required: ["text"])),
        answers: [
            .answer(200, "The comment.", .json(.ticketComment))
        ],
        errors: [
            403: "It is of somebody else (`forbidden`).",
            404: "There is no such ticket or comment (`ticket-not-found`, `comment-not-found`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        let comment = try context.comment
        let text = try await request.commentText
        return .json(try await tickets.editComment(comment, text, on: number, in: visitor.space, by: visitor.author))
    }
}

/// `DELETE /tickets/{ticket}/comments/{comment}`, by who wrote it or may delete tickets. 204.
struct DeleteComment: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/comments/{comment}", "deleteComment", "By who wrote it, or may delete tickets.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .path("comment", .integer),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [
            403: "It is of somebody else (`forbidden`).",
            404: "There is no such ticket or comment (`ticket-not-found`, `comment-not-found`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
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
