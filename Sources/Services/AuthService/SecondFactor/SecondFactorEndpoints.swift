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
        body: .json(.object(["password": .string.format("password")]), isRequired: false),
        answers: [
            .answer(
                200, "The secret, and its `otpauth` URI for a QR code.",
                .json(.object(["secret": .string, "uri": .string])))
        ],
        errors: [
            403: PasswordCheck.refusal,
            409: "A second factor is already active, or the user is anonymous (`conflict`).",
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
        let secret = try await secondFactors.begin(of: .user(user, space))
        return try .newSecondFactor(
            secret, issuer: try await apps.find(space.appID)?.name ?? space.appID, user: account.label ?? "")
    }
}

struct AddStaffSecondFactor: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp", "addStaffSecondFactor", "Creates a secret for the staff member's authenticator app.",
        callers: .signedInStaff,
        details: """
            Signing in asks for a code only after the secret is confirmed. Until then, another call replaces the \
            secret.
            """,
        body: .json(.object(["password": .string.format("password")], required: ["password"]).closed),
        answers: [
            .answer(
                200, "The secret, and its `otpauth` URI for a QR code.",
                .json(.object(["secret": .string, "uri": .uri], required: ["secret", "uri"])))
        ],
        errors: [409: "A second factor is already active (`conflict`)."])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try context.person(request)
        let password = Secret(try await BodyFields(request, ["password"]).requiredString("password"))
        let account = try await check.confirm(password, of: person.id)
        let secret = try await secondFactors.begin(of: person)
        return try .newSecondFactor(secret, issuer: "Martlet", user: account.grant.userName)
    }
}

struct ConfirmSecondFactor: Endpoint {
    static let route = Route(
        .post, "/auth/me/totp/confirm", "confirmSecondFactor", "Activates the second factor.",
        callers: .user,
        details: "From then on, signing in requires a code.",
        body: .json(.object(["code": .string])),
        answers: [.recoveryCodes(.object(["recoveryCodes": .array(of: .string)]))])
    static let confirmStaffSecondFactor = Route(
        .post, "/admin/me/totp/confirm", "confirmStaffSecondFactor", "Activates the staff member's second factor.",
        callers: .signedInStaff,
        details: "From then on, signing in requires a code.",
        body: .json(.object(["code": .string], required: ["code"]).closed),
        answers: [.recoveryCodes(.staffRecoveryCodes)])

    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try context.person(request)
        let code = try await BodyFields(request, ["code"]).requiredString("code")
        return try .recoveryCodes(try await secondFactors.confirm(code, of: person))
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
        body: .json(.object(["password": .string.format("password"), "code": .string])),
        answers: [.recoveryCodes(.object(["recoveryCodes": .array(of: .string)]))],
        errors: [
            403: PasswordCheck.refusal, 409: "The user has no second factor (`conflict`).",
        ])
    static let renewStaffRecoveryCodes = Route(
        .post, "/admin/me/totp/recovery-codes", "renewStaffRecoveryCodes",
        "Replaces all recovery codes of the staff member with ten new ones.", callers: .signedInStaff,
        details: "`code` is a code from the authenticator app, or a recovery code.",
        body: .json(.staffPasswordAndCode),
        answers: [.recoveryCodes(.staffRecoveryCodes)],
        errors: [409: "The staff member has no second factor (`conflict`)."])

    let check: SecondFactorCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try await check.confirm(request, context)
        guard let codes = try await check.secondFactors.renewRecoveryCodes(of: person) else {
            throw ServiceError.noSecondFactor(of: person)
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
        body: .json(.object(["password": .string.format("password"), "code": .string])),
        answers: [
            .answer(204, "Signing in no longer requires a code.")
        ],
        errors: [
            403: PasswordCheck.refusal, 409: "The user has no second factor (`conflict`).",
        ])
    static let removeStaffSecondFactor = Route(
        .delete, "/admin/me/totp", "removeStaffSecondFactor", "Removes the signed-in staff member's second factor.",
        callers: .signedInStaff,
        details: "`code` is a code from the authenticator app, or a recovery code.",
        body: .json(.staffPasswordAndCode),
        answers: [
            .answer(204, "Signing in no longer requires a code.")
        ],
        errors: [409: "The staff member has no second factor (`conflict`)."])

    let check: SecondFactorCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try await check.confirm(request, context)
        try await check.secondFactors.remove(of: person)
        return Response(status: .noContent)
    }
}

struct ResetSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}/totp", "resetSecondFactor",
        "Removes the second factor of a user, for example because the authenticator app is lost.",
        callers: .manager(.update, .users),
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
        let (space, id) = (try context.userSpace, try context.userID)
        guard try await users.account(id, in: space) != nil else { throw ServiceError(.userNotFound) }
        try await secondFactors.remove(of: .user(id, space))
        return Response(status: .noContent)
    }
}

/// Requires the password and a code before a second factor is changed.
struct SecondFactorCheck: Sendable {
    let users: PasswordCheck
    let staff: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    /// Checks the password and the code in the body.
    ///
    /// - Returns: The caller.
    /// - Throws: The errors of the password checks; `conflict` if the caller has no second factor.
    fileprivate func confirm(_ request: Request, _ context: ServiceContext) async throws -> Person {
        let person = try context.person(request)
        let fields = try await BodyFields(request, ["password", "code"])
        let code: String
        switch person {
        case .user(let id, let space):
            code = try fields.requiredString("code")
            _ = try await users.confirm(
                try fields.secret("password"), of: id, in: space, session: try context.session)
        case .staff(let id, _, _):
            let password = Secret(try fields.requiredString("password"))
            code = try fields.requiredString("code")
            _ = try await staff.confirm(password, of: id)
        }
        guard try await secondFactors.isRequired(of: person) else { throw ServiceError.noSecondFactor(of: person) }
        try await secondFactors.require(code, of: person, field: "code")
        return person
    }
}

extension RouteAnswer {
    fileprivate static func recoveryCodes(_ schema: Schema) -> RouteAnswer {
        .answer(200, "The recovery codes, which are shown only once.", .json(schema))
    }
}

extension Schema {
    fileprivate static let staffPasswordAndCode = object(
        ["password": .string.format("password"), "code": .string], required: ["password", "code"]
    ).closed
    fileprivate static let staffRecoveryCodes = object(
        ["recoveryCodes": .array(of: .string)], required: ["recoveryCodes"])
}

extension ServiceError {
    fileprivate static func noSecondFactor(of person: Person) -> ServiceError {
        ServiceError(.conflict, "The \(person.isStaff ? "staff member" : "user") has no second factor.")
    }
}

extension Response {
    /// `{"secret","uri"}`. Authenticator apps read the URI from a QR code
    /// (https://github.com/google/google-authenticator/wiki/Key-Uri-Format).
    fileprivate static func newSecondFactor(_ secret: [UInt8]?, issuer: String, user: String) throws -> Response {
        guard let secret else { throw ServiceError(.conflict, "A second factor is already active; remove it first.") }
        func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~")))
                ?? ""
        }
        let text = Base32.encode(secret)
        let parameters = "secret=\(text)&issuer=\(encoded(issuer))&algorithm=SHA1&digits=6&period=30"
        let uri = "otpauth://totp/\(encoded(issuer)):\(encoded(user))?\(parameters)"
        return try Response.encoding(["secret": text, "uri": uri]).notStored
    }

    fileprivate static func recoveryCodes(_ codes: [String]) throws -> Response {
        try Response.encoding(["recoveryCodes": codes]).notStored
    }
}
