import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListTickets: Endpoint {
    static let route = Route(
        .get, "/tickets", "listTickets", "Lists the app's tickets.", callers: .manager(.read, .tickets),
        parameters: [
            .query("status", .string, "A comma-separated list of `todo`, `inProgress`, `onHold` and `complete`."),
            .query(
                "type", .string, "A comma-separated list of `bug`, `feature`, `improvement`, `task` and `feedback`."),
            .query("priority", .string, "A comma-separated list of `low`, `medium`, `high` and `urgent`."),
            .query("assignee", .string, "A comma-separated list of staff ids, `me` and `none`."),
            .query("label", .string, "A comma-separated list of label names and `none`."),
            .query("sprint", .string, "A comma-separated list of sprint numbers, `active` and `none`."),
            .query("version", .string, "A comma-separated list of app versions."),
            .query("issue", .string, "A comma-separated list of numbers of crash issues."),
            .query("search", .string, "The beginnings of words, all of which must occur; or the number of a ticket."),
            .query(
                "createdBy", .string,
                "A comma-separated list of `staff:<id>` or the id alone, `me`, `key:<id>` and `client`."),
            .query("updatedAfter", .string, "Only tickets updated after this time (RFC 3339)."),
            .query("blocked", .string, "`true` for blocked tickets, `false` for the others."),
            .query("deleted", .boolean, "`true` for the tickets in the bin."),
            .query(
                "sort", .string,
                """
                `number`, `created`, `updated`, `priority` or `position`, with a leading `-` for descending order; \
                by default `-number`.
                """),
            .query("limit", .integer.range(1, 500).defaulting(to: 50), "The maximum number of tickets."),
            .query("cursor", .string, "`next` from the previous page."),
        ],
        answers: [
            .answer(
                200, "A page of tickets.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .ticket),
                            "next": .string,
                        ])))
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        let filter = try TicketFilter(request, in: caller.space, staff: caller.staff)
        let order = try TicketOrder(request.uri.queryParameters["sort"] ?? "-number")
        let cursor = try request.uri.queryParameters["cursor"].map { try order.cursor(parsing: $0) }
        let limit = try context.integer("limit")
        let (page, next) = try await tickets.list(filter, order, after: cursor, limit: limit)
        return .page(try await access.named(page, in: caller.space), next: next)
    }
}

struct CreateTicket: Endpoint {
    static let route = Route(
        .post, "/tickets", "createTicket", "Creates a ticket.", callers: .manager(.create, .tickets),
        body: .json(
            .all(
                .ticketChange,
                .object(
                    [
                        "issues": .array(of: .integer).maxItems(100).described(
                            "The numbers of the crash issues to attach.")
                    ], required: ["title"]))),
        answers: [
            .answer(201, "The ticket as stored.", .json(.ticket))
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .create)
        let fields = try await BodyFields(
            request, TicketChange.fields.union(["issues"]), upTo: TicketBody.maximumSizeInBytes)
        let change = try await access.change(fields, caller, context)
        let ticket = try NewTicket(
            change, issues: try TicketInput.numbers(fields, "issues", upTo: TicketLimits.issuesOfTicket) ?? [])
        let number = try await tickets.create(ticket, in: caller.space, by: caller.author)
        return try await access.answer(with: number, of: tickets, in: caller.space, status: .created)
    }
}

/// The ticket's revision is the `ETag`.
struct ReadTicket: Endpoint {
    static let route = Route(
        .get, "/tickets/{ticket}", "readTicket", "Returns a ticket with its attachments, issues and links.",
        callers: .manager(.read, .tickets),
        parameters: [
            .ticket
        ],
        answers: [
            .answer(200, "The ticket; its revision is the `ETag`.", .json(.ticket))
        ],
        errors: [404: "The app has no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .read)
        return try await access.answer(with: number, of: tickets, in: caller.space)
    }
}

struct ChangeTicket: Endpoint {
    static let route = Route(
        .patch, "/tickets/{ticket}", "changeTicket", "Changes fields of a ticket.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .header("If-Match", isRequired: true),
        ],
        body: .json(
            .all(
                .ticketChange,
                .object(
                    [
                        "resolveIssues": .boolean.described(
                            "Whether to resolve the ticket's crash issues as well, if its new status is `complete`.")
                    ]))),
        answers: [
            .answer(200, "The ticket after the change.", .json(.ticket))
        ],
        errors: [
            404: "The app has no such ticket (`ticket-not-found`).",
            412: "The ticket has another revision than `If-Match` (`precondition-failed`).",
            428: "`If-Match` is missing (`precondition-required`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        guard let condition = try Precondition(request) else {
            throw ServiceError(
                .preconditionRequired,
                "Send the ticket's ETag as If-Match, or * to change the ticket whatever its revision is.")
        }
        let fields = try await BodyFields(
            request, TicketChange.fields.union(["resolveIssues"]), upTo: TicketBody.maximumSizeInBytes)
        let resolvesIssues = try fields.flag("resolveIssues") ?? false
        let change = try await access.change(fields, caller, context) {
            try await tickets.assignee(of: number, in: caller.space)
        }
        try await tickets.update(
            number, change, if: condition, resolvesIssues: resolvesIssues, in: caller.space, by: caller.author)
        return try await access.answer(with: number, of: tickets, in: caller.space)
    }
}

/// Atomic: changes all of the tickets, or none if one does not exist.
struct ChangeTickets: Endpoint {
    static let route = Route(
        .post, "/tickets/update", "changeTickets", "Makes the same change to up to 100 tickets at once.",
        callers: .manager(.update, .tickets),
        details: "Changes any field except `title` and `description`, whatever revisions the tickets have.",
        body: .json(
            .all(
                .ticketChange,
                .object(
                    [
                        "tickets": .array(of: .integer).items(1, 100).described("The numbers of the tickets."),
                        "resolveIssues": .boolean,
                    ], required: ["tickets"]))),
        answers: [
            .answer(
                200, "The tickets after the change.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .ticket),
                        ])))
        ])

    private static let fields = TicketChange.fields.subtracting(["title", "description"])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .update)
        let fields = try await BodyFields(request, Self.fields.union(["tickets", "resolveIssues"]))
        guard let numbers = try TicketInput.numbers(fields, "tickets", upTo: TicketLimits.ticketsPerCall),
            !numbers.isEmpty
        else {
            throw ServiceError(.invalidBody, "This field is required.", field: "tickets")
        }
        guard Self.fields.contains(where: { fields[$0] != nil }) else {
            throw ServiceError(.invalidBody, "At least one field to change is required.")
        }
        let change = try await access.change(fields, caller, context)
        try await tickets.update(
            numbers, change, resolvesIssues: try fields.flag("resolveIssues") ?? false, in: caller.space,
            by: caller.author)
        return .page(try await access.named(try await tickets.list(numbers, in: caller.space), in: caller.space))
    }
}

/// Places the ticket after `after`; otherwise before `before`; otherwise at the `end` of the column.
///
/// A neighbour that has left the column in the meantime is ignored, so that the ticket stays as close as possible to
/// where it was dropped. Without `If-Match`, moves the ticket whatever its revision is.
struct MoveTicket: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/move", "moveTicket", "Moves a ticket to a place in a column of the board.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .header("If-Match"),
        ],
        body: .json(
            .object(
                [
                    "status": .string,
                    "after": .integer.described("Places the ticket directly after this one."),
                    "before": .integer.described(
                        "If `after` names no ticket of the column, places the ticket directly before this one."),
                    "end": .oneOf("top", "bottom"),
                    "resolveIssues": .boolean,
                ]), isRequired: false),
        answers: [
            .answer(200, "The ticket in its new place.", .json(.ticket))
        ],
        errors: [
            404: "The app has no such ticket (`ticket-not-found`).",
            412: "The ticket has another revision than `If-Match` (`precondition-failed`).",
        ])

    private enum End: String, CaseIterable {
        case top, bottom
    }

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let condition = try Precondition(request)
        let fields = try await BodyFields(request, ["status", "after", "before", "end", "resolveIssues"])
        let place = TicketPlace(
            after: try TicketInput.number(fields, "after"), before: try TicketInput.number(fields, "before"),
            isAtTop: try TicketInput.choice(fields, "end", End.self) == .top)
        try await tickets.move(
            number, to: try TicketInput.choice(fields, "status", TicketStatus.self), place, if: condition,
            resolvesIssues: try fields.flag("resolveIssues") ?? false, in: caller.space, by: caller.author)
        return try await access.answer(with: number, of: tickets, in: caller.space)
    }
}

/// Without `If-Match`, deletes the ticket whatever its revision is.
struct DeleteTicket: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}", "deleteTicket", "Moves a ticket to the bin, where it is kept for 30 days.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .ticket,
            .header("If-Match"),
        ],
        answers: [
            .answer(204, "The ticket is in the bin.")
        ],
        errors: [
            404: "The app has no such ticket (`ticket-not-found`).",
            412: "The ticket has another revision than `If-Match` (`precondition-failed`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .delete)
        try await tickets.delete(number, if: try Precondition(request), in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}

struct RestoreTicket: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/restore", "restoreTicket", "Restores a ticket from the bin.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .ticket
        ],
        answers: [
            .answer(200, "The ticket, which is no longer in the bin.", .json(.ticket))
        ],
        errors: [404: "The bin has no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .delete)
        try await tickets.restore(number, in: caller.space, by: caller.author)
        return try await access.answer(with: number, of: tickets, in: caller.space)
    }
}

enum TicketBody {
    /// Enough for the longest description with every character escaped.
    static let maximumSizeInBytes = 512 << 10
}
