import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The code is shown only once; only its SHA-256 is stored.
struct CreateRoleInvitation: Endpoint {
    /// RFC 5321 §4.5.3.1.3. Auth checks the rest.
    private static let maximumAddressInBytes = 254

    static let route = Route(
        .post, "/roles/{role}/invitations", "createRoleInvitation",
        "Invites users to become members of a role, by a code.", callers: .client,
        parameters: [.role],
        details: """
            For managers of the role and the app's server. A role may have 100 open invitations. With `email`, the \
            code is mailed to the address; it works for one user, whatever address they sign in with. A user may \
            request 20 such mails an hour.
            """,
        body: .json(
            .object(
                [
                    "uses": .integer.range(1, RoleInvitationStore.maximumUses).defaulting(to: 1).described(
                        "How many users can join with it."),
                    "days": .integer.range(1, RoleInvitationStore.maximumDays).defaulting(to: 7).described(
                        "How long it is valid."),
                    "email": .string.format("email").described("Where to mail the code. `uses` must be 1."),
                    "language": .string.described("The language of the mail (BCP 47)."),
                    "link": .string.described("The mail's link: one of the app's `linkURLs`, by default the first."),
                ])),
        answers: [
            .answer(201, "The invitation, with its `code` if no mail is sent.", .json(.roleInvitation))
        ],
        errors: [
            403: "The caller does not manage the role (`forbidden`).",
            404: "For the app's server: there is no such role (`role-not-found`).",
            501: "`email` was sent, and no mail server is configured (`not-implemented`).",
            504: "The mail may or may not be sent (`upstream-timeout`). The invitation is open: revoke it or wait.",
        ])

    let invitations: RoleInvitationStore
    let rights: RightsStore
    let mailing: RoleInvitationMailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (role, space) = (try context.role, try context.space)
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        let body = try await BodyFields(request, ["uses", "days", "email", "language", "link"])
        let uses = try body.integer("uses", in: 1...RoleInvitationStore.maximumUses) ?? 1
        let days = try body.integer("days", in: 1...RoleInvitationStore.maximumDays) ?? 7
        let mail = try Self.mail(body, to: role, uses: uses, days: days, by: caller, in: space)
        var invitation = try await invitations.create(
            to: role, uses: uses, days: days, email: mail?.email, by: caller, in: space)
        if var mail {
            mail.code = invitation.code ?? ""
            do {
                try await mailing.send(mail)
            } catch let problem as ServiceError where problem.code != .upstreamTimeout {
                // Without the mail, no one has the code. If it may still arrive, its code must work.
                // This runs in a separate task, because the request's task may be cancelled.
                try await Task { [id = invitation.id] in try await invitations.withdraw(id, in: space) }.value
                throw problem
            }
            invitation.code = nil
        }
        return try .encoding(invitation, status: .created)
    }

    /// The mail to send, still without the code; nil if the request has no address.
    private static func mail(
        _ body: BodyFields, to role: String, uses: Int, days: Int, by caller: Identity, in space: AppSchema
    ) throws -> RoleInvitationMail? {
        let (language, link) = (try body.string("language"), try body.string("link"))
        guard let email = try body.string("email") else {
            guard language == nil, link == nil else {
                throw ServiceError(.invalidBody, "`language` and `link` need an `email`.", field: "email")
            }
            return nil
        }
        guard email.utf8.count <= maximumAddressInBytes else {
            throw ServiceError(.invalidBody, "This must be an e-mail address.", field: "email")
        }
        guard uses == 1 else {
            throw ServiceError(.invalidBody, "An invitation by mail is for one user.", field: "uses")
        }
        return RoleInvitationMail(
            app: space.appID, environment: space.environment, email: email, role: role, code: "",
            secondsLeft: Int64(days) * 86_400, inviter: caller.userID, language: language, link: link)
    }
}

struct ListRoleInvitations: Endpoint {
    static let route = Route(
        .get, "/roles/{role}/invitations", "listRoleInvitations",
        "Lists the open invitations to a role, without their codes.", callers: .client,
        parameters: [.role],
        details: "For managers of the role and the app's server.",
        answers: [
            .answer(200, "`count`, and the invitations in `data`, oldest first.")
        ],
        errors: [
            403: "The caller does not manage the role (`forbidden`).",
            404: "For the app's server: there is no such role (`role-not-found`).",
        ])

    let invitations: RoleInvitationStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (role, space) = (try context.role, try context.space)
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        return try .list(try await invitations.list(of: role, for: caller, in: space))
    }
}

struct RevokeRoleInvitation: Endpoint {
    static let route = Route(
        .delete, "/roles/{role}/invitations/{id}", "revokeRoleInvitation",
        "Revokes an invitation. Users who have joined with it stay members.",
        callers: .client,
        parameters: [.role, .path("id", .uuid)],
        details: "For managers of the role and the app's server.",
        answers: [
            .answer(204, "The code no longer works.")
        ],
        errors: [
            403: "The caller does not manage the role (`forbidden`).",
            404: "The role has no such invitation (`not-found`).",
        ])

    let invitations: RoleInvitationStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (role, space) = (try context.role, try context.space)
        let id = try context.uuid("id", else: .notFound)
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        guard try await invitations.revoke(id, of: role, by: caller, in: space) else {
            throw ServiceError(.notFound)
        }
        return Response(status: .noContent)
    }
}

/// The answer is the same for unknown, used, expired and revoked codes, and for a code whose inviter no longer manages
/// the role.
struct JoinRole: Endpoint {
    static let route = Route(
        .post, "/auth/me/roles", "joinRole", "Makes the signed-in user a member of a role, by an invitation's code.",
        callers: .user,
        details: """
            After ten wrong codes in ten minutes, a user's further attempts are refused with 429. If the user is \
            already a member, the code is not used up.
            """,
        body: .json(.object(["code": .string], required: ["code"])),
        answers: [
            .answer(200, "The role's name.", .json(.object(["role": .string])))
        ],
        errors: [400: "The code is wrong, used, expired or revoked (`invalid-body`, `field` is `code`)."])

    let invitations: RoleInvitationStore
    let rights: RightsStore

    private struct Answer: Encodable {
        var role: String
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        guard let user = caller.userID else { throw RoleManagement.refusal }
        let text = try await BodyFields(request, ["code"]).requiredString("code")
        switch try await invitations.join(by: RoleInvitationCode(text), as: user, in: space) {
        case .joined(let role): return try .encoding(Answer(role: role))
        case .refused:
            throw ServiceError(
                .invalidBody, "The code is wrong, was used before, has expired or was revoked.", field: "code")
        case .tooManyGuesses:
            throw ServiceError(.tooManyRequests, "Too many wrong codes. Try again later.", retryAfter: 600)
        }
    }
}

extension RouteParameter {
    static let role: RouteParameter = .path(
        "role", .string, "The role's name: 1 to 64 letters, digits, spaces, `_` or `-`.")
}

extension Schema {
    fileprivate static let roleInvitation: Schema = component(
        "RoleInvitation",
        .object(
            [
                "id": .uuid,
                "role": .string,
                "code": .string.described("Only in the answer to its creation, and not if it was mailed."),
                "email": .string.described("The address to which the code was mailed."),
                "inviter": .string.described("The manager's id; absent if the app's server created it."),
                "uses": .integer,
                "usesLeft": .integer,
                "expires": .string.format("date-time"),
                "created": .string.format("date-time"),
            ]))
}
