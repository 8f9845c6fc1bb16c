import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct AddSecondFactor: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp", "addSecondFactor",
        "Creates a secret for an authenticator app.", callers: .user,
        details: """
            Requires `password` if the user has one, and otherwise a sign-in within the last ten minutes. \
            Signing in asks for a code only after the secret is confirmed. Until then, another call replaces the \
            secret.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(
                200, "The secret, and its `otpauth` URI for a QR code.",
                .json(
                    .object(
                        [
                            "secret": .string,
                            "uri": .string,
                        ])))
        ],
        errors: [
            403: """
            The user has no password and did not sign in within the last ten minutes \
            (`recent-sign-in-required`).
            """, 409: "A second factor is already active, or the user is anonymous (`conflict`).",
        ])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password"], isOptional: true)
        let account = try await check.confirm(
            try fields.secret("password"), of: user, in: space, session: try context.session)
        guard !account.isAnonymous else {
            throw ServiceError(.conflict, "An anonymous user cannot have a second factor; upgrade the account first.")
        }
        guard let secret = try await secondFactors.begin(of: user) else {
            throw ServiceError(.conflict, "A second factor is already active; remove it first.")
        }
        return try .newSecondFactor(
            secret, issuer: try await apps.find(space.appID)?.name ?? space.appID, user: account.label ?? "")
    }
}

struct ConfirmSecondFactor: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp/confirm", "confirmSecondFactor", "Activates the second factor.",
        callers: .user,
        details: "From then on, signing in requires a code.",
        body: .json(
            .object(
                [
                    "code": .string
                ])),
        answers: [
            .answer(
                200, "The recovery codes, which are shown only once.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ])))
        ])

    let attempts: AttemptStore
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let code = try await BodyFields(request, ["code"]).requiredString("code")
        return try .recoveryCodes(
            try await secondFactors.confirm(code, of: user, counting: .code(of: user, in: space), by: attempts))
    }
}

struct RenewRecoveryCodes: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp/recovery-codes", "renewRecoveryCodes", "Replaces all recovery codes with ten new ones.",
        callers: .user,
        details: """
            Requires `password` if the user has one, and otherwise a sign-in within the last ten minutes. `code` \
            is a code from the authenticator app, or a recovery code.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ])),
        answers: [
            .answer(
                200, "The recovery codes, which are shown only once.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ])))
        ],
        errors: [
            403: """
            The user has no password and did not sign in within the last ten minutes \
            (`recent-sign-in-required`).
            """, 409: "The user has no second factor (`conflict`).",
        ])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let user = try await check.confirm(request, context, secondFactors)
        guard let codes = try await secondFactors.renewRecoveryCodes(of: user) else {
            throw ServiceError(.conflict, "The user has no second factor.")
        }
        return try .recoveryCodes(codes)
    }
}

struct RemoveSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/auth/me/totp", "removeSecondFactor", "Removes the signed-in user's second factor.", callers: .user,
        details: """
            Requires `password` if the user has one, and otherwise a sign-in within the last ten minutes. `code` \
            is a code from the authenticator app, or a recovery code.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ])),
        answers: [
            .answer(204, "Signing in no longer requires a code.")
        ],
        errors: [
            403: """
            The user has no password and did not sign in within the last ten minutes \
            (`recent-sign-in-required`).
            """, 409: "The user has no second factor (`conflict`).",
        ])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let user = try await check.confirm(request, context, secondFactors)
        try await secondFactors.remove(of: user)
        return Response(status: .noContent)
    }
}

extension PasswordCheck {
    /// Checks the password and the code in the body.
    ///
    /// - Throws: The errors of `confirm(_:of:in:session:)`; `conflict` if the user has no second factor.
    fileprivate func confirm(_ request: Request, _ context: ServiceContext, _ secondFactors: SecondFactorStore)
        async throws -> UUID
    {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password", "code"])
        let code = try fields.requiredString("code")
        _ = try await confirm(try fields.secret("password"), of: user, in: space, session: try context.session)
        guard try await secondFactors.isAsked(of: user) else {
            throw ServiceError(.conflict, "The user has no second factor.")
        }
        try await secondFactors.take(code, of: user, field: "code", counting: .code(of: user, in: space), by: attempts)
        return user
    }
}

extension Response {
    /// `{"secret","uri"}`. Authenticator apps read the URI from a QR code
    /// (https://github.com/google/google-authenticator/wiki/Key-Uri-Format).
    static func newSecondFactor(_ secret: [UInt8], issuer: String, user: String) throws -> Response {
        func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~")))
                ?? ""
        }
        let text = Base32.encode(secret)
        let parameters = "secret=\(text)&issuer=\(encoded(issuer))&algorithm=SHA1&digits=6&period=30"
        let uri = "otpauth://totp/\(encoded(issuer)):\(encoded(user))?\(parameters)"
        return try Response.encoding(["secret": text, "uri": uri]).notStored
    }

    static func recoveryCodes(_ codes: [String]) throws -> Response {
        try Response.encoding(["recoveryCodes": codes]).notStored
    }
}

struct ResetSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}/totp", "resetSecondFactor",
        "Removes the second factor of a user who has lost it.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Signing in no longer requires a code.")
        ],
        errors: [404: "The app has no such user (`user-not-found`)."])

    let users: UserStore
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.managedUserSpace, try context.userID)
        guard try await users.account(id, in: space) != nil else { throw ServiceError(.userNotFound) }
        try await secondFactors.remove(of: id)
        return Response(status: .noContent)
    }
}
