import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

struct ListSprints: Endpoint {
    static let route = Route(
        .get, "/tickets/sprints", "listSprints", "Lists sprints with the counts of their tickets, newest first.",
        callers: .manager(.read, .tickets),
        parameters: [
            .query("before", .integer, "`next` from the previous page."),
            .query("limit", .integer.range(1, 500).defaulting(to: 50), "The maximum number of sprints."),
        ],
        answers: [
            .answer(
                200, "A page of sprints.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .sprint),
                            "next": .string,
                        ])))
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        let limit = try context.integer("limit")
        let before = try request.uri.queryParameters["before"].map { _ in
            try request.number("before", default: 1, in: 1...Int(Int32.max))
        }
        let list = try await sprints.list(in: caller.space, before: before, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.number) } : nil)
    }
}

struct CreateSprint: Endpoint {
    static let route = Route(
        .post, "/tickets/sprints", "createSprint", "Creates a sprint, which is not started yet.",
        callers: .manager(.create, .tickets),
        body: .json(
            .object(
                [
                    "name": .string.maxLength(100),
                    "goal": .string.maxLength(2_000),
                    "starts": .day.nullable,
                    "ends": .day.nullable,
                ])),
        answers: [
            .answer(201, "The sprint as stored.", .json(.sprint))
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .create)
        let change = try SprintChange(try await BodyFields(request, SprintChange.fields))
        return .json(
            ByteBuffer(string: try await sprints.create(change, in: caller.space, by: caller.author)),
            status: .created)
    }
}

/// The sprint's revision is the `ETag`.
struct ReadSprint: Endpoint {
    static let route = Route(
        .get, "/tickets/sprints/{sprint}", "readSprint", "Returns a sprint with the counts of its tickets.",
        callers: .manager(.read, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        answers: [
            .answer(200, "The sprint.", .json(.sprint))
        ],
        errors: [404: "The app has no such sprint (`sprint-not-found`)."])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        let (json, revision) = try await sprints.read(try context.sprint, in: caller.space)
        return .revised(json, revision)
    }
}

/// Without `If-Match`, changes the sprint whatever its revision is.
struct ChangeSprint: Endpoint {
    static let route = Route(
        .patch, "/tickets/sprints/{sprint}", "changeSprint", "Changes the name, goal or dates of a sprint.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("sprint", .integer),
            .header("If-Match"),
        ],
        body: .json(
            .object(
                [
                    "name": .string.maxLength(100),
                    "goal": .string.maxLength(2_000),
                    "starts": .day.nullable,
                    "ends": .day.nullable,
                ])),
        answers: [
            .answer(200, "The sprint after the change.", .json(.sprint))
        ],
        errors: [
            404: "The app has no such sprint (`sprint-not-found`).",
            412: "The sprint has another revision than `If-Match` (`precondition-failed`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .update)
        let (number, condition) = (try context.sprint, try Precondition(request))
        let change = try SprintChange(try await BodyFields(request, SprintChange.fields))
        return .json(try await sprints.update(number, change, if: condition, in: caller.space, by: caller.author))
    }
}

struct StartSprint: Endpoint {
    static let route = Route(
        .post, "/tickets/sprints/{sprint}/start", "startSprint", "Starts a sprint.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        answers: [
            .answer(200, "The sprint, which is active now.", .json(.sprint))
        ],
        errors: [
            404: "The app has no such sprint (`sprint-not-found`).",
            409: "The sprint has already been started, or another is active (`conflict`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .update)
        return .json(try await sprints.start(try context.sprint, in: caller.space, by: caller.author))
    }
}

struct ReportSprint: Endpoint {
    static let route = Route(
        .get, "/tickets/sprints/{sprint}/report", "reportSprint",
        "Returns the state of a sprint at its start, at its end or now, and on each day between.",
        callers: .manager(.read, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        answers: [
            .answer(200, "The report.", .json(.sprintReport))
        ],
        errors: [
            404: "The app has no such sprint (`sprint-not-found`).",
            409: "The sprint has not been started (`conflict`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        return .json(try await sprints.report(try context.sprint, in: caller.space).json.text)
    }
}

struct CloseSprint: Endpoint {
    static let route = Route(
        .post, "/tickets/sprints/{sprint}/close", "closeSprint",
        "Closes the active sprint, and moves its unfinished tickets to another sprint or the backlog.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        body: .json(
            .object(
                [
                    "unfinishedTo": .integer.nullable.described(
                        "The sprint for unfinished tickets; by default the backlog.")
                ]), isRequired: false),
        answers: [
            .answer(200, "The sprint, which is closed now.", .json(.sprint))
        ],
        errors: [
            404: "The app has no such sprint (`sprint-not-found`).", 409: "The sprint is not active (`conflict`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .update)
        let number = try context.sprint
        let next = try TicketInput.number(
            try await BodyFields(request, ["unfinishedTo"], isOptional: true), "unfinishedTo")
        return .json(try await sprints.close(number, movingTo: next, in: caller.space, by: caller.author))
    }
}

/// Without `If-Match`, deletes the sprint whatever its revision is.
struct DeleteSprint: Endpoint {
    static let route = Route(
        .delete, "/tickets/sprints/{sprint}", "deleteSprint",
        "Deletes a sprint that has not been started, and moves its tickets to the backlog.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .path("sprint", .integer),
            .header("If-Match"),
        ],
        answers: [
            .answer(204, "The sprint is deleted.")
        ],
        errors: [
            404: "The app has no such sprint (`sprint-not-found`).", 409: "The sprint has been started (`conflict`).",
            412: "The sprint has another revision than `If-Match` (`precondition-failed`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .delete)
        try await sprints.delete(
            try context.sprint, if: try Precondition(request), in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var sprint: Int {
        get throws {
            guard let number = TicketInput.number(self, "sprint") else { throw ServiceError(.sprintNotFound) }
            return number
        }
    }
}
