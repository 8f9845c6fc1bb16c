import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct LinkStaffIdentity: Endpoint {
    static let route = Route(
        .put, "/admin/staff/{id}/identities/{provider}", "linkStaffIdentity",
        "Links a staff member to an identity at a provider.", callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ], needsConfirmation: true,
        details: """
            Send either `subject`, or `email` to link the first identity that signs in with this verified \
            address. Needs every right that the member has; staff who link their own identity also send \
            `password`.
            """,
        body: .json(
            .object(
                [
                    "subject": .string.length(1, 255),
                    "email": .string.format("email"),
                    "password": .string.format("password"),
                ]).closed),
        answers: [
            .answer(200, "The staff member.", .json(.staff))
        ],
        errors: [
            404: "There is no such staff member (`staff-not-found`), or no such provider (`not-found`).",
            409: "Another staff member has this identity (`conflict`).",
        ])

    let check: StaffPasswordCheck
    let providers: IdentityProviderStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        let id = try context.staffID
        let fields = try await BodyFields(request, ["subject", "email", "password"])
        let (subject, email) = (try fields.string("subject"), try fields.email())
        guard (subject == nil) != (email == nil) else {
            throw ServiceError(.invalidBody, "Expected either subject or email.", field: "subject")
        }
        // The form of a subject in an id token (OpenID Connect Core 1.0 §2).
        guard
            subject.map({ (1...255).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x20...0x7e).contains($0) } })
                ?? true
        else {
            throw ServiceError(.invalidBody, "Expected 1 to 255 printable ASCII characters.", field: "subject")
        }
        guard let provider = try await providers.find(context.parameters.get("provider") ?? "", in: .staff),
            let issuer = provider.settings.issuer ?? provider.settings.kind.defaultIssuer
        else { throw ServiceError(.notFound, "There is no provider with this name.") }
        // A stolen access token must not be enough to add a way to sign in.
        if id == actor.id { _ = try await check.confirm(Secret(try fields.requiredString("password")), of: id) }
        let identity = StaffIdentity(provider: provider.name, issuer: issuer, subject: subject, email: email)
        return .json(try await check.staff.link(identity, to: id, by: actor))
    }
}

struct UnlinkStaffIdentity: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}/identities/{provider}", "unlinkStaffIdentity",
        "Removes a staff member's identity at a provider.", callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs every right that the member has. The member's sessions stay open.",
        answers: [
            .answer(200, "The staff member.", .json(.staff))
        ],
        errors: [
            404: """
            There is no such staff member (`staff-not-found`), or the member is not linked to this provider \
            (`not-found`).
            """
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        return .json(
            try await staff.unlink(context.parameters.get("provider") ?? "", from: try context.staffID, by: actor))
    }
}
