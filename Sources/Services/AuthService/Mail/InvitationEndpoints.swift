import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

struct CreateInvitation: Endpoint {
    static let route = Route(
        .post, "/auth/invitations", "createInvitation",
        "Creates an invitation to sign up.", callers: .manager(.create, .users),
        details: """
            With `email`, the code is mailed to the address and only that address can use it. Without, the \
            answer has the `code`.
            """,
        body: .json(
            .object(
                [
                    "email": .string.format("email"),
                    "days": .integer.range(1, 90).defaulting(to: 7),
                    "language": .string.described("The language of the mail (BCP 47)."),
                    "link": .string.described("One of the app's `linkURLs`; by default the first."),
                ]), isRequired: false),
        answers: [
            .answer(201, "The invitation, with `code` if no mail is sent.", .json(.object))
        ],
        errors: [501: "`email` was sent, and no mail server is configured (`not-implemented`)."])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["email", "days", "language", "link"], isOptional: true)
        let (email, days) = (try fields.email(), try fields.integer("days", in: 1...90) ?? 7)
        let settings = try await mailing.settings.current(in: space) { _ = try fields.link($0) }
        let (languages, link) = (
            try fields.string("language").map { [try LanguageTag($0, field: "language").text] } ?? [],
            try fields.link(settings)
        )
        if email != nil, try await !mailing.outbox.canSendMail(in: space) {
            throw ServiceError(.notImplemented, "No mail server is configured; leave out the address to get a code.")
        }
        guard
            let (invitation, code) = try await mailing.invitations.create(
                for: email, lifetimeInSeconds: Int64(days) * 86_400, in: space)
        else {
            throw ServiceError(.limitExceeded, "There may be at most \(InvitationStore.maximumOpen) open invitations.")
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
            // Without the mail, no one would know of the invitation.
            _ = try await mailing.invitations.remove(invitation.id, in: space)
            throw error
        }
        return .json(ByteBuffer(string: invitation.json), status: .created)
    }
}

struct ListInvitations: Endpoint {
    static let route = Route(
        .get, "/auth/invitations", "listInvitations", "Lists the app's invitations, newest first.",
        callers: .manager(.read, .users),
        parameters: [
            .query("before", .uuid, "The `next` of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "A page of invitations.", .json(.object))
        ])

    let invitations: InvitationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let limit = try context.integer("limit")
        let list = try await invitations.list(before: try request.id("before"), limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

struct DeleteInvitation: Endpoint {
    static let route = Route(
        .delete, "/auth/invitations/{id}", "deleteInvitation", "Deletes an invitation.",
        callers: .manager(.delete, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Users who have signed up with it keep their accounts.",
        answers: [
            .answer(204, "The invitation can no longer be used.")
        ],
        errors: [404: "The app has no such invitation (`not-found`)."])

    let invitations: InvitationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await invitations.remove(id, in: space)
        else {
            throw ServiceError(.notFound)
        }
        return Response(status: .noContent)
    }
}
