import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Lists the comments or the history of a ticket in chronological order.
struct ListTicketEntries: Endpoint {
    static let route = Route(
        .get, "/tickets/{ticket}/history", "readTicketHistory",
        "Lists the changes of a ticket with their authors, oldest first.",
        callers: .manager(.read, .tickets),
        parameters: [
            .ticket,
            .query("after", .integer, "`next` from the previous page."),
            .query("limit", .integer.range(1, 500).defaulting(to: 100), "The maximum number of entries."),
        ],
        answers: [
            .answer(
                200, "A page of changes.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .object),
                            "next": .string,
                        ])))
        ],
        errors: [404: "The app has no such ticket (`ticket-not-found`)."])
    static let listComments = Route(
        .get, "/tickets/{ticket}/comments", "listComments", "Lists the comments on a ticket, oldest first.",
        callers: .manager(.read, .tickets),
        parameters: [
            .ticket,
            .query("after", .integer, "`next` from the previous page."),
            .query("limit", .integer.range(1, 500).defaulting(to: 100), "The maximum number of comments."),
        ],
        answers: [
            .answer(
                200, "A page of comments.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .ticketComment),
                            "next": .string,
                        ])))
        ],
        errors: [404: "The app has no such ticket (`ticket-not-found`)."])

    enum Content: Sendable {
        case comments, history
    }

    let access: TicketAccess
    let tickets: TicketStore
    let content: Content

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .read)
        let limit = try context.integer("limit")
        let after = try request.number("after", default: 0, in: 0...Int.max)
        let list =
            switch content {
            case .comments: try await tickets.comments(on: number, after: after, limit: limit + 1, in: caller.space)
            case .history: try await tickets.history(of: number, after: after, limit: limit + 1, in: caller.space)
            }
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.number) } : nil)
    }
}

struct AddComment: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/comments", "addComment", "Adds a comment to a ticket.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket
        ],
        body: .json(
            .object(
                [
                    "text": .string.maxLength(20_000)
                ], required: ["text"])),
        answers: [
            .answer(201, "The comment as stored.", .json(.ticketComment))
        ],
        errors: [404: "The app has no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let text = try await request.commentText
        return .json(
            ByteBuffer(string: try await tickets.comment(text, on: number, in: caller.space, by: caller.author)),
            status: .created)
    }
}

struct EditComment: Endpoint {
    static let route = Route(
        .patch, "/tickets/{ticket}/comments/{comment}", "editComment", "Changes a comment; only its author may do so.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .path("comment", .integer),
        ],
        body: .json(
            .object(
                [
                    "text": .string.maxLength(20_000)
                ], required: ["text"])),
        answers: [
            .answer(200, "The comment after the change.", .json(.ticketComment))
        ],
        errors: [
            403: "The caller did not write the comment (`forbidden`).",
            404: "There is no such ticket or comment (`ticket-not-found`, `comment-not-found`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let comment = try context.comment
        let text = try await request.commentText
        return .json(try await tickets.editComment(comment, text, on: number, in: caller.space, by: caller.author))
    }
}

struct DeleteComment: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/comments/{comment}", "deleteComment",
        "Deletes a comment; only its author or a caller who may delete tickets may do so.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .path("comment", .integer),
        ],
        answers: [
            .answer(204, "The comment is deleted.")
        ],
        errors: [
            403: "The caller neither wrote the comment nor may delete tickets (`forbidden`).",
            404: "There is no such ticket or comment (`ticket-not-found`, `comment-not-found`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let isModerator = (try? context.author(may: .delete, .tickets)) != nil
        try await tickets.deleteComment(
            try context.comment, on: number, isModerator: isModerator, in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var comment: Int {
        get throws {
            guard let number = TicketInput.number(self, "comment") else { throw ServiceError(.commentNotFound) }
            return number
        }
    }
}

extension Request {
    fileprivate var commentText: String {
        get async throws {
            let fields = try await BodyFields(self, ["text"], upTo: TicketBody.maximumSizeInBytes)
            guard let text = try TicketInput.text(fields, "text", from: 1, upTo: TicketLimits.commentLength) else {
                throw ServiceError(.invalidBody, "This field is required.", field: "text")
            }
            return text
        }
    }
}
