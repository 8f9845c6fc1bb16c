import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/sprints` with `before` and `limit` (1…500, 50): sprints with counts of their tickets, the newest
/// first.
struct ListSprints: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .read, parameters: ["before", "limit"])
        let limit = try request.number("limit", default: 50, in: 1...500)
        let before = try request.uri.queryParameters["before"].map { _ in
            try request.number("before", default: 1, in: 1...Int(Int32.max))
        }
        let list = try await sprints.list(in: visitor.space, before: before, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.number) } : nil)
    }
}

/// `POST /tickets/sprints` with `name`, and perhaps `goal`, `starts` and `ends`, which are days. 201.
struct CreateSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .create)
        let change = try SprintChange(try await BodyFields(request, SprintChange.fields))
        return .json(
            ByteBuffer(string: try await sprints.create(change, in: visitor.space, by: visitor.author)),
            status: .created)
    }
}

/// `GET /tickets/sprints/{sprint}`. Its revision is the `ETag`.
struct ReadSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .read)
        let (json, revision) = try await sprints.read(try context.sprint, in: visitor.space)
        return .revised(json, revision)
    }
}

/// `PATCH /tickets/sprints/{sprint}`: what shall be different. `If-Match` is taken where it is sent.
struct ChangeSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .update)
        let (number, condition) = (try context.sprint, try Precondition(request))
        let change = try SprintChange(try await BodyFields(request, SprintChange.fields))
        return .json(try await sprints.update(number, change, if: condition, in: visitor.space, by: visitor.author))
    }
}

/// `POST /tickets/sprints/{sprint}/start`: it becomes the active one.
struct StartSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .update)
        try await request.allowNoBody()
        return .json(try await sprints.start(try context.sprint, in: visitor.space, by: visitor.author))
    }
}

/// `GET /tickets/sprints/{sprint}/report`: how it stood when it was started, how it stands, and each day between.
struct ReportSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .read)
        return .json(try await sprints.report(try context.sprint, in: visitor.space).json.text)
    }
}

/// `POST /tickets/sprints/{sprint}/close`, perhaps with `{"unfinishedTo":<sprint>}`: what is not complete goes there,
/// else to the backlog.
struct CloseSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .update)
        let number = try context.sprint
        let next = try TicketInput.number(
            try await BodyFields(request, ["unfinishedTo"], isOptional: true), "unfinishedTo")
        return .json(try await sprints.close(number, movingTo: next, in: visitor.space, by: visitor.author))
    }
}

/// `DELETE /tickets/sprints/{sprint}`, of one that was not started. `If-Match` is taken where it is sent. 204.
struct DeleteSprint: Endpoint {
    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .delete)
        try await sprints.delete(
            try context.sprint, if: try Precondition(request), in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var sprint: Int {
        get throws {
            guard let number = TicketInput.number(self, "sprint") else { throw HTTPProblem(.sprintNotFound) }
            return number
        }
    }
}
