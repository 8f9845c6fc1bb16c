import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/me/totp` with `password`: a secret for an authenticator app, `{"secret","uri"}`. It is asked for from `ConfirmSecondFactor` on; until
/// then another call makes another one. 409 when one is in force.
struct AddSecondFactor: Endpoint {
    let check: PasswordCheck
    let secondFactors: SecondFactorStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password"])
        let account = try await check.confirmPassword(try fields.secret("password"), of: user, in: space)
        guard let secret = try await secondFactors.begin(of: user) else { throw HTTPProblem(.conflict, "A second factor is in force.") }
        let text = Base32.encode(secret)
        let uri = Self.uri(secret: text, app: try await apps.find(space.appID)?.name ?? space.appID, user: account.label ?? "")
        return try Response.encoding(["secret": text, "uri": uri]).notStored
    }

    /// As authenticator apps read it from a QR code (https://github.com/google/google-authenticator/wiki/Key-Uri-Format).
    private static func uri(secret: String, app: String, user: String) -> String {
        func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? ""
        }
        return "otpauth://totp/\(encoded(app)):\(encoded(user))?secret=\(secret)&issuer=\(encoded(app))&algorithm=SHA1&digits=6&period=30"
    }
}

/// `POST /auth/me/totp/confirm` with `code`: from now on signing in asks for one. 200 with `{"recoveryCodes":[…]}`, shown this once.
struct ConfirmSecondFactor: Endpoint {
    let attempts: AttemptStore
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let code = try await BodyFields(request, ["code"]).requiredString("code")
        let limit = AttemptStore.Limit.code(of: user, in: space)
        try await attempts.begin([limit])
        guard let codes = try await secondFactors.confirm(code, of: user) else { throw HTTPProblem(.signInFailed, "The code is wrong.", field: "code") }
        try await attempts.succeed(account: limit, address: nil)
        return try .recoveryCodes(codes)
    }
}

/// `POST /auth/me/totp/recovery-codes` with `password` and `code`: ten new ones in place of the old.
struct RenewRecoveryCodes: Endpoint {
    let check: PasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let user = try await check.confirm(request, context, secondFactors)
        guard let codes = try await secondFactors.renewRecoveryCodes(of: user) else { throw HTTPProblem(.conflict, "There is no second factor.") }
        return try .recoveryCodes(codes)
    }
}

/// `DELETE /auth/me/totp` with `password` and `code`, 204: signing in asks for a password alone again.
struct RemoveSecondFactor: Endpoint {
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
    fileprivate func confirm(_ request: Request, _ context: ServiceContext, _ secondFactors: SecondFactorStore) async throws -> UUID {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password", "code"])
        let code = try fields.requiredString("code")
        let limit = AttemptStore.Limit.code(of: user, in: space)
        try await attempts.begin([limit])
        _ = try await confirm(try fields.secret("password"), of: user, in: space, session: try context.session)
        guard try await secondFactors.isAsked(of: user) else { throw HTTPProblem(.conflict, "There is no second factor.") }
        guard try await secondFactors.take(code, of: user) else { throw HTTPProblem(.signInFailed, "The code is wrong.", field: "code") }
        try await attempts.succeed(account: limit, address: nil)
        return user
    }
}

extension Response {
    fileprivate static func recoveryCodes(_ codes: [String]) throws -> Response {
        try Response.encoding(["recoveryCodes": codes]).notStored
    }
}

/// `DELETE /auth/users/{id}/totp`, for the app's own server, when a user has lost app and codes; 204.
struct ResetSecondFactor: Endpoint {
    let users: UserStore
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.managedUserSpace, try context.userID)
        guard try await users.account(id, in: space) != nil else { throw HTTPProblem(.userNotFound) }
        try await secondFactors.remove(of: id)
        return Response(status: .noContent)
    }
}
