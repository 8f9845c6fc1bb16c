import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListIdentities: Endpoint {
    static let route = Route(
        .get, "/auth/me/identities", "listIdentities", "Lists the signed-in user's identities at providers.",
        callers: .user,
        answers: [
            .answer(
                200, "The identities.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .identity),
                        ])))
        ])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .page(try await federation.identities.list(of: try context.signedInUser, in: try context.userSpace))
    }
}

/// Consumes the proof before it links the identity.
struct LinkIdentity: Endpoint {
    static let route = Route(
        .post, "/auth/me/identities", "linkIdentity", "Links an identity at a provider to the signed-in user.",
        callers: .user,
        details: """
            Takes either an id token (`provider`, `idToken`) or the result of a code flow (`code`, \
            `codeVerifier`). Requires `password` if the user has one, and otherwise a sign-in within the last \
            ten minutes. An anonymous user keeps the id, the sessions and all data. A user without an address \
            gets the provider's, if it is verified and no other user has it.
            """,
        body: .json(
            .object(
                [
                    "provider": .string,
                    "idToken": .string.maxLength(16_384),
                    "nonce": .string.described(
                        """
                        The nonce whose SHA-256, in hexadecimal digits, is in the id token. Required unless the \
                        provider has `nonceRequired: false`.
                        """),
                    "authorizationCode": .string.described(
                        """
                        Apple's authorization code. With it, Apple's token can be revoked when the user is \
                        deleted.
                        """),
                    "name": .string.described(
                        """
                        The user's name, which Apple gives only to the app. Used if the id token has none.
                        """),
                    "code": .string,
                    "codeVerifier": .string.length(43, 128),
                    "password": .string.format("password"),
                ])),
        answers: [
            .answer(200, "The user.", .json(.user))
        ],
        errors: [
            403: PasswordCheck.refusal,
            409: """
            The identity belongs to another user, or the user has another identity at this provider \
            (`conflict`).
            """,
        ])

    let federation: Federation
    let check: PasswordCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(
            request, Federation.codeFields.union(Federation.idTokenFields).union(["password"]))
        // An access token alone must not be enough to add a way to sign in.
        _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
        let proof =
            try await fields.string("code") == nil
            ? federation.proof(ofIDToken: fields, context, in: space) : federation.proof(ofCode: fields, in: space)
        guard try await proof.consume() else { throw ServiceError.unusableProof }
        try await federation.identities.link(proof.identity, to: id, in: space)
        try await federation.identities.adoptEmail(of: proof.identity, for: id, in: space)
        try await proof.finish()
        guard let user = try await check.users.find(id, in: space) else { throw ServiceError(.userNotFound) }
        return .json(user)
    }
}

struct UnlinkIdentity: Endpoint {
    static let route = Route(
        .delete, "/auth/me/identities/{name}", "unlinkIdentity",
        "Removes one of the signed-in user's identities at providers.",
        callers: .user,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#), "The provider's name in the app's settings.")
        ],
        details: "Requires `password` if the user has one, and otherwise a sign-in within the last ten minutes.",
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(204, "The identity is removed.")
        ],
        errors: [
            403: PasswordCheck.refusal, 404: "The user has no identity at this provider (`not-found`).",
            409: "The identity is the user's last way to sign in (`conflict`).",
        ])

    let federation: Federation
    let check: PasswordCheck
    let outbox: MailOutbox

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let provider = context.component("name")
        let fields = try await BodyFields(request, ["password"], isOptional: true)
        _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
        let canSendMail = try await outbox.canSendMail(in: space)
        let isGone = try await federation.identities.unlink(
            provider: provider, of: id, canSendMail: canSendMail, in: space
        ) {
            try await federation.revocation.begin(of: id, provider: provider, in: space, $0)
        }
        guard isGone else { throw ServiceError(.notFound, "The user has no identity at this provider.") }
        return Response(status: .noContent)
    }
}
