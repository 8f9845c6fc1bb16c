import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct AddLink: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/links", "addLink",
        "Links two tickets, for example as blocking or duplicating each other.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket
        ],
        body: .json(
            .object(
                [
                    "kind": .oneOf("blocks", "blockedBy", "duplicates", "duplicatedBy", "relates"),
                    "ticket": .integer,
                ], required: ["kind", "ticket"])),
        answers: [
            .answer(200, "The ticket with its links.", .json(.ticket))
        ],
        errors: [
            404: "The app has no such ticket (`ticket-not-found`).", 409: "The link would close a cycle (`conflict`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let fields = try await BodyFields(request, ["kind", "ticket"])
        let kind: TicketLinkKind = try fields.requiredChoice("kind")
        guard let other = try TicketInput.number(fields, "ticket") else {
            throw ServiceError(.invalidBody, "This field is required.", field: "ticket")
        }
        try await tickets.link(number, kind, to: other, in: caller.space, by: caller.author)
        return try await access.answer(with: number, of: tickets, in: caller.space)
    }
}

struct DeleteLink: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/links/{kind}/{other}", "deleteLink", "Removes a link between two tickets.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .path("kind", .oneOf("blocks", "blockedBy", "duplicates", "duplicatedBy", "relates")),
        ],
        answers: [
            .answer(204, "The link is removed.")
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`), or no such link (`not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        guard let kind = TicketLinkKind(rawValue: context.component("kind")),
            let other = TicketInput.ticketNumber(context.component("other"))
        else { throw ServiceError(.notFound, "There is no such link.") }
        try await tickets.unlink(number, kind, from: other, in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}

struct AttachIssues: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/issues", "attachIssues", "Attaches crash issues to a ticket.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket
        ],
        body: .json(
            .object(
                [
                    "issues": .array(of: .integer).maxItems(100)
                ], required: ["issues"])),
        answers: [
            .answer(200, "The ticket with its issues.", .json(.ticket))
        ],
        errors: [404: "The app has no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        let fields = try await BodyFields(request, ["issues"])
        guard let issues = try TicketInput.numbers(fields, "issues", upTo: TicketLimits.issuesOfTicket), !issues.isEmpty
        else {
            throw ServiceError(.invalidBody, "This field is required.", field: "issues")
        }
        try await tickets.attach(issues: issues, to: number, in: caller.space, by: caller.author)
        return try await access.answer(with: number, of: tickets, in: caller.space)
    }
}

struct DetachIssue: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/issues/{issue}", "detachIssue", "Detaches a crash issue from a ticket.",
        callers: .manager(.update, .tickets),
        parameters: [
            .ticket,
            .path("issue", .integer),
        ],
        answers: [
            .answer(204, "The issue is no longer attached.")
        ],
        errors: [
            404: "There is no such ticket (`ticket-not-found`), or it does not have the issue (`not-found`)."
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, number) = try await access.admitToTicket(context, to: .update)
        guard let issue = TicketInput.number(context, "issue") else {
            throw ServiceError(.notFound, "The ticket does not have this issue.")
        }
        try await tickets.detach(issue: issue, from: number, in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}
