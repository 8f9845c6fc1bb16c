import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /tickets` with the parameters of `TicketFilter`, `sort`, `limit` (1…500, 50) and `cursor`: a page of tickets,
/// the newest first.
struct ListTickets: Endpoint {
    static let route = Route(
        .get, "/tickets", "listTickets", "A page of tickets.", callers: .manager(.read, .tickets),
        parameters: [
            .query("status", .string, "`todo`, `inProgress`, `onHold`, `complete`; several with commas."),
            .query("type", .string, "`bug`, `feature`, `improvement`, `task`, `feedback`."),
            .query("priority", .string, "`low`, `medium`, `high`, `urgent`."),
            .query("assignee", .string, "Ids of staff, `me`, `none`."),
            .query("label", .string, "Names, `none`."),
            .query("sprint", .string, "Numbers, `active`, `none`."),
            .query("version", .string, "App versions."),
            .query("issue", .string, "Numbers of crash issues."),
            .query("search", .string, "Beginnings of words, all of which occur; or a number."),
            .query("createdBy", .string, "`staff:<id>` or the id alone, `me`, `key:<id>`, `client`."),
            .query("updatedAfter", .string, "RFC 3339."),
            .query("blocked", .string, "`true` or `false`."),
            .query("deleted", .boolean, "`true`: what is in the bin."),
            .query(
                "sort", .string,
                """
                `number`, `created`, `updated`, `priority`, `position`, perhaps with `-` in front; `-number`.
                """),
            .query("limit", .integer, "Of the page."),
            .query("cursor", .string, "`next` of the page before."),
        ],
        answers: [
            .answer(
                200, "A page.",
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
        let visitor = try await access.admit(context, to: .read)
        let filter = try TicketFilter(request, in: visitor.space, staff: visitor.staff)
        let order = try TicketOrder(request.uri.queryParameters["sort"] ?? "-number")
        let place = try request.uri.queryParameters["cursor"].map { try order.place($0) }
        let limit = try request.number("limit", default: 50, in: 1...500)
        let (page, next) = try await tickets.list(filter, order, behind: place, limit: limit)
        return .page(try await access.named(page, in: visitor.space), next: next)
    }
}

/// `POST /tickets`: `title`, and whatever else of `TicketChange`; `issues` has numbers of crash issues. 201 with the
/// ticket.
struct CreateTicket: Endpoint {
    static let route = Route(
        .post, "/tickets", "createTicket", "Makes a ticket.", callers: .manager(.create, .tickets),
        body: .json(
            .all(
                .ticketChange,
                .object(
                    [
                        "issues": .array(of: .integer).maxItems(100).described("Numbers of crash issues.")
                    ], required: ["title"]))),
        answers: [
            .answer(201, "The ticket.", .json(.ticket))
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .create)
        let fields = try await BodyFields(
            request, TicketChange.fields.union(["issues"]), upTo: TicketBody.maximumSizeInBytes)
        let change = try await access.change(fields, visitor, context)
        let ticket = try NewTicket(
            change, issues: try TicketInput.numbers(fields, "issues", upTo: TicketLimits.issues) ?? [])
        let number = try await tickets.create(ticket, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space, status: .created)
    }
}

/// `GET /tickets/{ticket}`, by `12` or `APP-12`. Its revision is the `ETag`.
struct ReadTicket: Endpoint {
    static let route = Route(
        .get, "/tickets/{ticket}", "readTicket", "A ticket with what belongs to it.",
        callers: .manager(.read, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`.")
        ],
        answers: [
            .answer(200, "The ticket; `ETag` is its revision.", .json(.ticket))
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .read)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

/// `PATCH /tickets/{ticket}` with `If-Match`: the fields that shall be different; `resolveIssues` where it is complete
/// then.
struct ChangeTicket: Endpoint {
    static let route = Route(
        .patch, "/tickets/{ticket}", "changeTicket", "The fields that shall be different.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .header("If-Match", isRequired: true),
        ],
        body: .json(
            .all(
                .ticketChange,
                .object(
                    [
                        "resolveIssues": .boolean.described(
                            "With status `complete`: marks its crash issues resolved, too.")
                    ]))),
        answers: [
            .answer(200, "The ticket.", .json(.ticket))
        ],
        errors: [
            404: "There is no such ticket (`ticket-not-found`).",
            412: "It was changed meanwhile (`precondition-failed`).",
            428: "Without `If-Match` (`precondition-required`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        guard let condition = try Precondition(request) else {
            throw HTTPProblem(
                .preconditionRequired, "Send the ticket's ETag as If-Match, or * to change it whatever it is.")
        }
        let fields = try await BodyFields(
            request, TicketChange.fields.union(["resolveIssues"]), upTo: TicketBody.maximumSizeInBytes)
        let resolvesIssues = try fields.flag("resolveIssues") ?? false
        let change = try await access.change(fields, visitor, context) {
            try await tickets.assignee(of: number, in: visitor.space)
        }
        try await tickets.update(
            number, change, if: condition, resolvesIssues: resolvesIssues, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

/// `POST /tickets/update` with `tickets`, up to 100 numbers, and what shall be different in all of them (but title and
/// description); `resolveIssues` as in `ChangeTicket`. All are changed, whatever they are, or none; 200 with them.
struct ChangeTickets: Endpoint {
    static let route = Route(
        .post, "/tickets/update", "changeTickets", "The same change to several tickets, or to none.",
        callers: .manager(.update, .tickets),
        details: "Without `title` and `description`, and whatever their `ETag`.",
        body: .json(
            .all(
                .ticketChange,
                .object(
                    [
                        "tickets": .array(of: .integer).items(1, 100).described("Numbers."),
                        "resolveIssues": .boolean,
                    ], required: ["tickets"]))),
        answers: [
            .answer(
                200, "The tickets.",
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
        let visitor = try await access.admit(context, to: .update)
        let fields = try await BodyFields(request, Self.fields.union(["tickets", "resolveIssues"]))
        guard let numbers = try TicketInput.numbers(fields, "tickets", upTo: TicketLimits.ticketsPerCall),
            !numbers.isEmpty
        else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "tickets")
        }
        guard Self.fields.contains(where: { fields[$0] != nil }) else {
            throw HTTPProblem(.invalidBody, "Say what shall be different.")
        }
        let change = try await access.change(fields, visitor, context)
        try await tickets.update(
            numbers, change, resolvesIssues: try fields.flag("resolveIssues") ?? false, in: visitor.space,
            by: visitor.author)
        return .page(try await access.named(try await tickets.list(numbers, in: visitor.space), in: visitor.space))
    }
}

/// `POST /tickets/{ticket}/move`: to the column `status`, directly behind the ticket `after`, else before `before`,
/// else to `end` `"top"` or `"bottom"`.
///
/// A neighbour that has left the column meanwhile counts as not said, so that what was dragged stays where it was
/// dropped as far as that is possible. `If-Match` is taken where it is sent; `resolveIssues` as in `ChangeTicket`.
struct MoveTicket: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/move", "moveTicket", "Drops it somewhere in a column.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .header("If-Match"),
        ],
        body: .json(
            .object(
                [
                    "status": .string,
                    "after": .integer.described("Directly behind this ticket."),
                    "before": .integer.described("Else directly before this one."),
                    "end": .oneOf("top", "bottom"),
                    "resolveIssues": .boolean,
                ]), isRequired: false),
        answers: [
            .answer(200, "The ticket.", .json(.ticket))
        ],
        errors: [
            404: "There is no such ticket (`ticket-not-found`).",
            412: "It was changed meanwhile (`precondition-failed`).",
        ])

    private enum End: String, CaseIterable {
        case top, bottom
    }

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        let condition = try Precondition(request)
        let fields = try await BodyFields(request, ["status", "after", "before", "end", "resolveIssues"])
        let place = TicketPlace(
            after: try TicketInput.number(fields, "after"), before: try TicketInput.number(fields, "before"),
            isAtTop: try TicketInput.choice(fields, "end", End.self) == .top)
        try await tickets.move(
            number, to: try TicketInput.choice(fields, "status", TicketStatus.self), place, if: condition,
            resolvesIssues: try fields.flag("resolveIssues") ?? false, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

/// `DELETE /tickets/{ticket}`: into the bin, from which it is gone after 30 days. `If-Match` is taken where it is sent.
/// 204.
struct DeleteTicket: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}", "deleteTicket", "Puts it into the bin for 30 days.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .header("If-Match"),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [
            404: "There is no such ticket (`ticket-not-found`).",
            412: "It was changed meanwhile (`precondition-failed`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .delete)
        try await tickets.delete(number, if: try Precondition(request), in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

/// `POST /tickets/{ticket}/restore`: out of the bin.
struct RestoreTicket: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/restore", "restoreTicket", "Takes it out of the bin.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`.")
        ],
        answers: [
            .answer(200, "The ticket.", .json(.ticket))
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .delete)
        try await tickets.restore(number, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

enum TicketBody {
    /// The longest description in the longest way to write it.
    static let maximumSizeInBytes = 512 << 10
}
