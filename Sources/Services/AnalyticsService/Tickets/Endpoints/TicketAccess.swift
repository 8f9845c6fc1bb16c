import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Where everybody passes who works with tickets: staff with the right, and the app's own server.
struct TicketAccess: Sendable {
    let spaces: Spaces
    let people: TicketPeople
    let directory: StaffDirectory
    let names: AssigneeNames

    /// Who asks, and about which tickets.
    struct Visitor: Sendable {
        let space: Space
        let author: Author
        /// Nil: the app's server.
        let staff: UUID?
    }

    /// - Parameter parameters: those that the query may have.
    /// - Throws: `forbidden` and as `ServiceContext.author(may:_:)`; `app-not-found`; `invalid-parameter`.
    func admit(
        _ request: Request, _ context: ServiceContext, to action: StaffAction, parameters: Set<Substring> = []
    ) async throws -> Visitor {
        let visitor = try await visitor(context, action)
        try request.allowParameters(parameters)
        return visitor
    }

    /// To the ticket in the path, by its number.
    ///
    /// - Throws: as `admit(_:_:to:parameters:)`; `ticket-not-found` for what can be no ticket's number.
    func admitToTicket(
        _ request: Request, _ context: ServiceContext, to action: StaffAction, parameters: Set<Substring> = []
    ) async throws -> (visitor: Visitor, number: Int) {
        (try await admit(request, context, to: action, parameters: parameters), try TicketInput.ticket(context))
    }

    /// What a body wants a ticket to be.
    ///
    /// - Parameter current: who has the ticket by now: they may keep it, also where they are gone since.
    /// - Throws: as `TicketChange.init`, and for an assignee as `StaffDirectory.check`.
    func change(
        _ fields: BodyFields, _ visitor: Visitor, _ context: ServiceContext, current: () async throws -> UUID? = { nil }
    ) async throws -> TicketChange {
        let change = try TicketChange(fields, staff: visitor.staff)
        if case .some(let assignee?) = change.assignee, try await current() != assignee {
            try await directory.check(assignee, of: .tickets, askedBy: try context.principal)
        }
        return change
    }

    private func visitor(_ context: ServiceContext, _ action: StaffAction) async throws -> Visitor {
        let author = try context.author(may: action, .tickets)
        let principal = try context.principal
        let space = try await spaces.space(of: principal)
        guard let staff = principal.staff else { return Visitor(space: space, author: author, staff: nil) }
        try await people.note(staff, in: space)
        return Visitor(space: space, author: author, staff: UUID(uuidString: staff.id))
    }
}

extension TicketAccess {
    /// The ticket as it is now, with its revision.
    ///
    /// - Throws: `ticket-not-found`.
    func answer(with number: Int, of tickets: TicketStore, in space: Space, status: HTTPResponse.Status = .ok)
        async throws -> Response
    {
        let (json, revision) = try await tickets.read(number, in: space)
        return .revised(try await named([json], in: space)[0], revision, status: status)
    }

    /// Tickets with what their assignees are called, and whether they are gone.
    func named(_ tickets: [String], in space: Space) async throws -> [String] {
        try await names.named(tickets, .tickets, in: space)
    }
}

extension Response {
    /// JSON of something that has a revision.
    static func revised(_ json: String, _ revision: Int64, status: HTTPResponse.Status = .ok) -> Response {
        var response = Response.json(ByteBuffer(string: json), status: status)
        response.headers[.eTag] = EntityTag(text: String(revision)).header
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
