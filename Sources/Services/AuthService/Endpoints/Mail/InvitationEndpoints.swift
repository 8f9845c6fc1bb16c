import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /auth/invitations` by the app's server, with `days` (1 to 90, else 7); with `email`, and `language` and `link`
/// if wanted, the code goes there by mail, without it is in the answer. 201 with
/// `{"id","email","created","expires","used","code"}`.
struct CreateInvitation: Endpoint {
    static let route = Route(
        .post, "/auth/invitations", "createInvitation",
        "Invites an address by mail, or makes a code. Needs the master key.", callers: .server,
        body: .json(
            .object(
                [
                    "email": .string.format("email"),
                    "days": .integer.range(1, 90).defaulting(to: 7),
                    "language": .string.described("BCP 47; else Accept-Language."),
                    "link": .string.described("One of the app's linkURLs; else the first."),
                ]), isRequired: false),
        answers: [
            .answer(201, "Made.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let fields = try await BodyFields(request, ["email", "days", "language", "link"], isOptional: true)
        let (email, days) = (try fields.email(), try fields.integer("days", in: 1...90) ?? 7)
        let settings = try await mailing.settings.current(in: space).settings
        let (languages, link) = (
            try fields.string("language").map { [try LanguageTag($0, field: "language").text] } ?? [],
            try fields.link(settings)
        )
        if email != nil, try await !mailing.outbox.isThere(in: space) {
            throw HTTPProblem(.notImplemented, "This server sends no mail: ask for a code, without an address.")
        }
        guard
            let (invitation, code) = try await mailing.invitations.create(
                for: email, lifetimeInSeconds: Int64(days) * 86_400, in: space)
        else {
            throw HTTPProblem(.limitExceeded, "There may be at most \(InvitationStore.maximumOpen) open invitations.")
        }
        guard let email else {
            return Response.json(
                ByteBuffer(string: invitation.json.dropLast() + #","code":"\#(code ?? "")"}"#), status: .created
            ).notStored
        }
        var order = MailOrder(.invitation, to: email.text, invitation: invitation.id, in: space)
        (order.languages, order.link) = (languages, link)
        do {
            try await mailing.outbox.place(order)
        } catch {
            // What nobody is told of is no invitation.
            _ = try await mailing.invitations.remove(invitation.id, in: space)
            throw error
        }
        return .json(ByteBuffer(string: invitation.json), status: .created)
    }
}

/// `GET /auth/invitations?before=&limit=`: the newest first, for the app's own server. `next`, where there are more, is
/// the `before` of the next page.
struct ListInvitations: Endpoint {
    static let route = Route(
        .get, "/auth/invitations", "listInvitations", "Invitations, the newest first. Needs the master key.",
        callers: .server,
        parameters: [
            .query("before", .uuid, "`next` of the page before."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "A page.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let invitations: InvitationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let limit = try context.integer("limit")
        let list = try await invitations.list(before: try request.id("before"), limit: limit + 1, in: space)
        let page = list.prefix(limit)
        let next = list.count > limit ? page.last.map { #","next":"\#($0.id.uuidString.lowercased())""# } ?? "" : ""
        return .json(#"{"count":\#(page.count),"data":[\#(page.map(\.json).joined(separator: ","))]\#(next)}"#)
    }
}

/// `DELETE /auth/invitations/{id}`, for the app's own server; 204. Who signed up by it stays.
struct DeleteInvitation: Endpoint {
    static let route = Route(
        .delete, "/auth/invitations/{id}", "deleteInvitation", "Takes an invitation back. Needs the master key.",
        callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let invitations: InvitationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await invitations.remove(id, in: space)
        else {
            throw HTTPProblem(.notFound)
        }
        return Response(status: .noContent)
    }
}
