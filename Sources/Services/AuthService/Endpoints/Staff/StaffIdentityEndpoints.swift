import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `PUT /admin/staff/{id}/identities/{provider}` with `subject`, or with `email` for whoever first comes with it
/// verified: the member signs in by the provider. Needs `staff` update, and for oneself the `password`. 200 with the
/// staff member.
struct LinkStaffIdentity: Endpoint {
    static let route = Route(
        .put, "/admin/staff/{id}/identities/{provider}", "linkStaffIdentity",
        """
        Says who the member is at a provider: a subject, or whoever first comes with a verified address.
        """, callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` update, and every right that the member has; for oneself the password.",
        body: .json(
            .object(
                [
                    "subject": .string.length(1, 255),
                    "email": .string.format("email"),
                    "password": .string.format("password"),
                ]).closed),
        answers: [
            .answer(200, "Done.", .json(.staff))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`).", 404: "Not found."])

    let check: StaffPasswordCheck
    let providers: IdentityProviderStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        let id = try context.staffID
        let fields = try await BodyFields(request, ["subject", "email", "password"])
        let (subject, email) = (try fields.string("subject"), try fields.email())
        guard (subject == nil) != (email == nil) else {
            throw HTTPProblem(.invalidBody, "Send a subject or an e-mail address.", field: "subject")
        }
        // As id tokens have it (OpenID Connect Core 1.0 §2).
        guard
            subject.map({ (1...255).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x20...0x7e).contains($0) } })
                ?? true
        else {
            throw HTTPProblem(.invalidBody, "A subject is 1 to 255 printable characters.", field: "subject")
        }
        guard let provider = try await providers.find(context.parameters.get("provider") ?? "", in: .staff),
            let issuer = provider.settings.issuer ?? provider.settings.kind.defaultIssuer
        else { throw HTTPProblem(.notFound, "There is no such provider.") }
        // A stolen access token must not open a second way in.
        if id == actor.id { _ = try await check.confirm(Secret(try fields.requiredString("password")), of: id) }
        let identity = StaffIdentity(provider: provider.name, issuer: issuer, subject: subject, email: email)
        return .json(try await check.staff.link(identity, to: id, by: actor))
    }
}

/// `DELETE /admin/staff/{id}/identities/{provider}`: the member signs in by it no longer; their sessions go on. Needs
/// `staff` update. 200 with the staff member.
struct UnlinkStaffIdentity: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}/identities/{provider}", "unlinkStaffIdentity",
        "The member signs in by the provider no longer.", callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` update, and every right that the member has.",
        answers: [
            .answer(200, "Done.", .json(.staff))
        ],
        errors: [404: "Not found."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        return .json(
            try await staff.unlink(context.parameters.get("provider") ?? "", from: try context.staffID, by: actor))
    }
}
