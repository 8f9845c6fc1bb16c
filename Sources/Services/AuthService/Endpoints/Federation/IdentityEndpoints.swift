import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/me/identities`: where the user can sign in from.
struct ListIdentities: Endpoint {
    static let route = Route(
        .get, "/auth/me/identities", "listIdentities", "Where the user can sign in from.", callers: .user,
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .identity),
                        ])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await federation.identities.list(of: try context.signedInUser, in: try context.userSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `POST /auth/me/identities` with an id token (`provider`, `idToken`, `nonce`, `authorizationCode`) or a finished code
/// flow (`code`, `codeVerifier`), and `password` where there is one: another way to sign in. 200 with the user.
///
/// An anonymous user is none any more, and keeps id, sessions and all data. Whoever has no address gets the provider's,
/// when it is verified and free.
struct LinkIdentity: Endpoint {
    static let route = Route(
        .post, "/auth/me/identities", "linkIdentity", "Another way to sign in, by id token or finished code flow.",
        callers: .user,
        body: .json(
            .object(
                [
                    "provider": .string,
                    "idToken": .string.maxLength(16_384),
                    "nonce": .string.described(
                        """
                        The token has its SHA-256 in hexadecimal digits. Required unless the provider has `nonceRequired: \
                        false`.
                        """),
                    "authorizationCode": .string.described("Apple's, so that its token can be revoked."),
                    "name": .string.described("Of a new user."),
                    "code": .string,
                    "codeVerifier": .string.length(43, 128),
                    "password": .string.format("password"),
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.user))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let federation: Federation
    let check: PasswordCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(
            request, Federation.codeFields.union(Federation.idTokenFields).union(["password"]))
        // An access token alone must not open another door.
        _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
        let proof =
            try await fields.string("code") == nil
            ? federation.proof(ofIDToken: fields, context, in: space) : federation.proof(ofCode: fields, in: space)
        guard try await proof.take() else { throw HTTPProblem.spentProof }
        try await federation.identities.link(proof.identity, to: id, in: space)
        try await federation.identities.adoptEmail(of: proof.identity, for: id, in: space)
        try await proof.finish()
        guard let user = try await check.users.find(id, in: space) else { throw HTTPProblem(.userNotFound) }
        return .json(user)
    }
}

/// `DELETE /auth/me/identities/{provider}` with `password` where there is one, 204. 409 for the only way to sign in.
struct UnlinkIdentity: Endpoint {
    static let route = Route(
        .delete, "/auth/me/identities/{name}", "unlinkIdentity", "Takes a way to sign in away, unless it is the last.",
        callers: .user,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#), "The app's name for the provider.")
        ],
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let federation: Federation
    let check: PasswordCheck
    let outbox: MailOutbox

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let provider = context.component("name")
        let fields = try await BodyFields(request, ["password"], isOptional: true)
        _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
        let isMailThere = try await outbox.isThere(in: space)
        let isGone = try await federation.identities.unlink(
            provider: provider, of: id, isMailThere: isMailThere, in: space
        ) {
            try await federation.revocation.begin(of: id, provider: provider, in: space, $0)
        }
        guard isGone else { throw HTTPProblem(.notFound, "The user has no identity of this provider.") }
        return Response(status: .noContent)
    }
}
