import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/me/totp` with `password`, where there is one: a secret for an authenticator app, `{"secret","uri"}`. It
/// is asked for from `ConfirmSecondFactor` on; until then another call makes another one. 409 when one is in force, and
/// for who has nothing to sign in by.
struct AddSecondFactor: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp", "addSecondFactor",
        "A secret for an authenticator app, not asked for until it is confirmed.", callers: .user,
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "secret": .string,
                            "uri": .string,
                        ])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password"], isOptional: true)
        let account = try await check.confirm(
            try fields.secret("password"), of: user, in: space, session: try context.session)
        guard !account.isAnonymous else {
            throw HTTPProblem(.conflict, "This user has nothing to sign in by: upgrade first.")
        }
        guard let secret = try await secondFactors.begin(of: user) else {
            throw HTTPProblem(.conflict, "A second factor is in force.")
        }
        return try .newSecondFactor(
            secret, issuer: try await apps.find(space.appID)?.name ?? space.appID, user: account.label ?? "")
    }
}

/// `POST /auth/me/totp/confirm` with `code`: from now on signing in asks for one. 200 with `{"recoveryCodes":[…]}`,
/// shown this once.
struct ConfirmSecondFactor: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp/confirm", "confirmSecondFactor", "From now on signing in asks for a code.",
        callers: .user,
        body: .json(
            .object(
                [
                    "code": .string
                ]), isRequired: false),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let attempts: AttemptStore
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let code = try await BodyFields(request, ["code"]).requiredString("code")
        return try .recoveryCodes(
            try await secondFactors.confirm(code, of: user, counting: .code(of: user, in: space), by: attempts))
    }
}

/// `POST /auth/me/totp/recovery-codes` with `password`, where there is one, and `code`: ten new ones in place of the
/// old.
struct RenewRecoveryCodes: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp/recovery-codes", "renewRecoveryCodes", "Ten new recovery codes in place of the old.",
        callers: .user,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ]), isRequired: false),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let user = try await check.confirm(request, context, secondFactors)
        guard let codes = try await secondFactors.renewRecoveryCodes(of: user) else {
            throw HTTPProblem(.conflict, "There is no second factor.")
        }
        return try .recoveryCodes(codes)
    }
}

/// `DELETE /auth/me/totp` with `password`, where there is one, and `code`, 204: signing in asks for no code again.
struct RemoveSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/auth/me/totp", "removeSecondFactor", "Signing in asks for a password alone again.", callers: .user,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ]), isRequired: false),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let user = try await check.confirm(request, context, secondFactors)
        try await secondFactors.remove(of: user)
        return Response(status: .noContent)
    }
}

extension PasswordCheck {
    /// Password and code of the body.
    ///
    /// - Throws: as `confirm(_:of:in:)`; `conflict` when there is no second factor.
    fileprivate func confirm(_ request: Request, _ context: ServiceContext, _ secondFactors: SecondFactorStore)
        async throws -> UUID
    {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password", "code"])
        let code = try fields.requiredString("code")
        _ = try await confirm(try fields.secret("password"), of: user, in: space, session: try context.session)
        guard try await secondFactors.isAsked(of: user) else {
            throw HTTPProblem(.conflict, "There is no second factor.")
        }
        try await secondFactors.take(code, of: user, field: "code", counting: .code(of: user, in: space), by: attempts)
        return user
    }
}

extension Response {
    /// `{"secret","uri"}`, the latter as authenticator apps read it from a QR code
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

/// `DELETE /auth/users/{id}/totp`, for the app's own server, when a user has lost app and codes; 204.
struct ResetSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}/totp", "resetSecondFactor",
        "Takes a user's second factor away. Needs the master key.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.managedUserSpace, try context.userID)
        guard try await users.account(id, in: space) != nil else { throw HTTPProblem(.userNotFound) }
        try await secondFactors.remove(of: id)
        return Response(status: .noContent)
    }
}
