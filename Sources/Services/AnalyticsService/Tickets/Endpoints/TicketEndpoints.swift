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
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(
            request, context, to: .read, parameters: TicketFilter.parameters.union(["sort", "limit", "cursor"]))
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
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .create)
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
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .read)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

/// `PATCH /tickets/{ticket}` with `If-Match`: the fields that shall be different; `resolveIssues` where it is complete
/// then.
struct ChangeTicket: Endpoint {
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update)
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
    private static let fields = TicketChange.fields.subtracting(["title", "description"])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .update)
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
    private enum End: String, CaseIterable {
        case top, bottom
    }

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .update)
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
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .delete)
        try await tickets.delete(number, if: try Precondition(request), in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

/// `POST /tickets/{ticket}/restore`: out of the bin.
struct RestoreTicket: Endpoint {
    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(request, context, to: .delete)
        try await request.allowNoBody()
        try await tickets.restore(number, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

enum TicketBody {
    /// The longest description in the longest way to write it.
    static let maximumSizeInBytes = 512 << 10
}
