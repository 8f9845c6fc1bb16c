import AnalyticsShared
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Admits callers to tickets: staff members with the necessary right, and the app's own server.
struct TicketAccess: Sendable {
    let spaces: Spaces
    let people: TicketPeople
    let directory: StaffDirectory
    let names: AssigneeNames

    /// The caller, and the space whose tickets they may use.
    struct Caller: Sendable {
        let space: Space
        let author: Author
        /// The staff member; nil for the app's server.
        let staff: UUID?
    }

    /// - Throws: `forbidden` and as `ServiceContext.author(may:_:)`; `app-not-found`.
    func admit(_ context: ServiceContext, to action: StaffAction) async throws -> Caller {
        let author = try context.author(may: action, .tickets)
        let principal = try context.principal
        let space = try await spaces.space(of: principal)
        guard let staff = principal.staff else { return Caller(space: space, author: author, staff: nil) }
        try await people.record(staff, in: space)
        return Caller(space: space, author: author, staff: UUID(uuidString: staff.id))
    }

    /// Admits a caller to the ticket named in the path.
    ///
    /// - Throws: as `admit(_:to:)`; `ticket-not-found` if the path holds no ticket number.
    func admitToTicket(_ context: ServiceContext, to action: StaffAction) async throws -> (
        caller: Caller, number: Int
    ) {
        (try await admit(context, to: action), try TicketInput.ticket(context))
    }

    /// Parses and checks a change of a ticket.
    ///
    /// - Parameter current: The current assignee, who may keep the ticket even if they have left since.
    /// - Throws: as `TicketChange.init`, and for an assignee as `StaffDirectory.check`.
    func change(
        _ fields: BodyFields, _ caller: Caller, _ context: ServiceContext, current: () async throws -> UUID? = { nil }
    ) async throws -> TicketChange {
        let change = try TicketChange(fields, staff: caller.staff)
        if case .some(let assignee?) = change.assignee, try await current() != assignee {
            try await directory.check(assignee, of: .tickets, assignedBy: try context.principal)
        }
        return change
    }
}

extension TicketAccess {
    /// Responds with the current state of a ticket and its revision.
    ///
    /// - Throws: `ticket-not-found`.
    func answer(with number: Int, of tickets: TicketStore, in space: Space, status: HTTPResponse.Status = .ok)
        async throws -> Response
    {
        let (json, revision) = try await tickets.read(number, in: space)
        return .revised(try await named([json], in: space)[0], revision, status: status)
    }

    /// Adds to tickets the assignee's name, and whether the assignee is gone.
    func named(_ tickets: [String], in space: Space) async throws -> [String] {
        try await names.named(tickets, .tickets, in: space)
    }
}

extension Response {
    /// A JSON response with the revision as `ETag`.
    static func revised(_ json: String, _ revision: Int64, status: HTTPResponse.Status = .ok) -> Response {
        var response = Response.json(ByteBuffer(string: json), status: status)
        response.headers[.eTag] = EntityTag(text: String(revision)).header
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
