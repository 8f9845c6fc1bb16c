import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `POST /tickets/{ticket}/links` with `{"kind","ticket"}`: `blocks`, `blockedBy`, `duplicates`, `duplicatedBy` or
/// `relates`. 200 with the ticket.
struct AddLink: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/links", "addLink", "Says how two tickets hang together.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`.")
        ],
        body: .json(
            .object(
                [
                    "kind": .oneOf("blocks", "blockedBy", "duplicates", "duplicatedBy", "relates"),
                    "ticket": .integer,
                ], required: ["kind", "ticket"])),
        answers: [
            .answer(200, "The ticket.", .json(.ticket))
        ],
        errors: [
            404: "There is no such ticket (`ticket-not-found`).", 409: "They would be linked in a circle (`conflict`).",
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        let fields = try await BodyFields(request, ["kind", "ticket"])
        guard let kind = try TicketInput.choice(fields, "kind", TicketLinkKind.self) else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "kind")
        }
        guard let other = try TicketInput.number(fields, "ticket") else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "ticket")
        }
        try await tickets.link(number, kind, to: other, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

/// `DELETE /tickets/{ticket}/links/{kind}/{other}`. 204.
struct DeleteLink: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/links/{kind}/{other}", "deleteLink", "Takes a link away.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .path("kind", .oneOf("blocks", "blockedBy", "duplicates", "duplicatedBy", "relates")),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`) or link (`not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        guard let kind = TicketLinkKind(rawValue: context.component("kind")),
            let other = TicketInput.ticketNumber(context.component("other"))
        else { throw HTTPProblem(.notFound, "There is no such link.") }
        try await tickets.unlink(number, kind, from: other, in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

/// `POST /tickets/{ticket}/issues` with `{"issues":[…]}`, numbers of crash issues. 200 with the ticket.
struct AttachIssues: Endpoint {
    static let route = Route(
        .post, "/tickets/{ticket}/issues", "attachIssues", "Attaches crash issues.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`.")
        ],
        body: .json(
            .object(
                [
                    "issues": .array(of: .integer).maxItems(100)
                ], required: ["issues"])),
        answers: [
            .answer(200, "The ticket.", .json(.ticket))
        ],
        errors: [404: "There is no such ticket (`ticket-not-found`)."])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        let fields = try await BodyFields(request, ["issues"])
        guard let issues = try TicketInput.numbers(fields, "issues", upTo: TicketLimits.issues), !issues.isEmpty else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "issues")
        }
        try await tickets.attach(issues: issues, to: number, in: visitor.space, by: visitor.author)
        return try await access.answer(with: number, of: tickets, in: visitor.space)
    }
}

/// `DELETE /tickets/{ticket}/issues/{issue}`. 204.
struct DetachIssue: Endpoint {
    static let route = Route(
        .delete, "/tickets/{ticket}/issues/{issue}", "detachIssue", "Takes a crash issue off.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("ticket", .string, "A number, or `APP-12`."),
            .path("issue", .integer),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [
            404: """
            There is no such ticket (`ticket-not-found`), or it does not have the issue (`not-found`).
            """
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (visitor, number) = try await access.admitToTicket(context, to: .update)
        guard let issue = TicketInput.number(context, "issue") else {
            throw HTTPProblem(.notFound, "The ticket does not have this issue.")
        }
        try await tickets.detach(issue: issue, from: number, in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}
