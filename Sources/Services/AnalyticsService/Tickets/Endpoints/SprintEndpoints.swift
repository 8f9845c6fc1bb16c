import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/sprints` with `before` and `limit` (1…500, 50): sprints with counts of their tickets, the newest
/// first.
struct ListSprints: Endpoint {
    static let route = Route(
        .get, "/tickets/sprints", "listSprints", "Sprints, the newest first.", callers: .manager(.read, .tickets),
        parameters: [
            .query("before", .integer, "`next` of the page before."),
            .query("limit", .integer, "Of the page."),
        ],
        answers: [
            .answer(
                200, "A page.",
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
        let visitor = try await access.admit(context, to: .read)
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
    static let route = Route(
        .post, "/tickets/sprints", "createSprint", "Plans a sprint.", callers: .manager(.create, .tickets),
        body: .json(
            .object(
                [
                    "name": .string.maxLength(100),
                    "goal": .string.maxLength(2_000),
                    "starts": .day.nullable,
                    "ends": .day.nullable,
                ])),
        answers: [
            .answer(201, "The sprint.", .json(.sprint))
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .create)
        let change = try SprintChange(try await BodyFields(request, SprintChange.fields))
        return .json(
            ByteBuffer(string: try await sprints.create(change, in: visitor.space, by: visitor.author)),
            status: .created)
    }
}

/// `GET /tickets/sprints/{sprint}`. Its revision is the `ETag`.
struct ReadSprint: Endpoint {
    static let route = Route(
        .get, "/tickets/sprints/{sprint}", "readSprint", "A sprint with counts of its tickets.",
        callers: .manager(.read, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        answers: [
            .answer(200, "The sprint.", .json(.sprint))
        ],
        errors: [404: "There is no such sprint (`sprint-not-found`)."])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .read)
        let (json, revision) = try await sprints.read(try context.sprint, in: visitor.space)
        return .revised(json, revision)
    }
}

/// `PATCH /tickets/sprints/{sprint}`: what shall be different. `If-Match` is taken where it is sent.
struct ChangeSprint: Endpoint {
    static let route = Route(
        .patch, "/tickets/sprints/{sprint}", "changeSprint", "What shall be different.",
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
            .answer(200, "The sprint.", .json(.sprint))
        ],
        errors: [
            404: "There is no such sprint (`sprint-not-found`).",
            412: "It was changed meanwhile (`precondition-failed`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .update)
        let (number, condition) = (try context.sprint, try Precondition(request))
        let change = try SprintChange(try await BodyFields(request, SprintChange.fields))
        return .json(try await sprints.update(number, change, if: condition, in: visitor.space, by: visitor.author))
    }
}

/// `POST /tickets/sprints/{sprint}/start`: it becomes the active one.
struct StartSprint: Endpoint {
    static let route = Route(
        .post, "/tickets/sprints/{sprint}/start", "startSprint", "It becomes the active one.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        answers: [
            .answer(200, "The sprint.", .json(.sprint))
        ],
        errors: [
            404: "There is no such sprint (`sprint-not-found`).",
            409: "It was started already, or another is active (`conflict`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .update)
        return .json(try await sprints.start(try context.sprint, in: visitor.space, by: visitor.author))
    }
}

/// `GET /tickets/sprints/{sprint}/report`: how it stood when it was started, how it stands, and each day between.
struct ReportSprint: Endpoint {
    static let route = Route(
        .get, "/tickets/sprints/{sprint}/report", "reportSprint",
        "How it stood when it was started, how it stands, and each day between.", callers: .manager(.read, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        answers: [
            .answer(200, "The report.", .json(.sprintReport))
        ],
        errors: [404: "There is no such sprint (`sprint-not-found`).", 409: "It was not started yet (`conflict`)."])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .read)
        return .json(try await sprints.report(try context.sprint, in: visitor.space).json.text)
    }
}

/// `POST /tickets/sprints/{sprint}/close`, perhaps with `{"unfinishedTo":<sprint>}`: what is not complete goes there,
/// else to the backlog.
struct CloseSprint: Endpoint {
    static let route = Route(
        .post, "/tickets/sprints/{sprint}/close", "closeSprint",
        "Ends it. What is not complete goes to another sprint or to the backlog.", callers: .manager(.update, .tickets),
        parameters: [
            .path("sprint", .integer)
        ],
        body: .json(
            .object(
                [
                    "unfinishedTo": .integer.nullable.described("Another sprint; without: the backlog.")
                ]), isRequired: false),
        answers: [
            .answer(200, "The sprint.", .json(.sprint))
        ],
        errors: [404: "There is no such sprint (`sprint-not-found`).", 409: "It is not active (`conflict`)."])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .update)
        let number = try context.sprint
        let next = try TicketInput.number(
            try await BodyFields(request, ["unfinishedTo"], isOptional: true), "unfinishedTo")
        return .json(try await sprints.close(number, movingTo: next, in: visitor.space, by: visitor.author))
    }
}

/// `DELETE /tickets/sprints/{sprint}`, of one that was not started. `If-Match` is taken where it is sent. 204.
struct DeleteSprint: Endpoint {
    static let route = Route(
        .delete, "/tickets/sprints/{sprint}", "deleteSprint",
        "Of one that was not started; its tickets go to the backlog.", callers: .manager(.delete, .tickets),
        parameters: [
            .path("sprint", .integer),
            .header("If-Match"),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [
            404: "There is no such sprint (`sprint-not-found`).", 409: "It was started (`conflict`).",
            412: "It was changed meanwhile (`precondition-failed`).",
        ])

    let access: TicketAccess
    let sprints: SprintStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .delete)
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
