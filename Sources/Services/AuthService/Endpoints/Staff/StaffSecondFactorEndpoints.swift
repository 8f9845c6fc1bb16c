import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /admin/me/totp` with `password`: a secret for an authenticator app, `{"secret","uri"}`; as `AddSecondFactor`.
struct AddStaffSecondFactor: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp", "addStaffSecondFactor", "A secret for an authenticator app.", callers: .signedInStaff,
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ], required: ["password"]
            ).closed),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "secret": .string,
                            "uri": .uri,
                        ], required: ["secret", "uri"])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let password = Secret(try await BodyFields(request, ["password"]).requiredString("password"))
        let account = try await check.confirm(password, of: try staff.uuid)
        guard let secret = try await secondFactors.begin(of: account.id) else {
            throw HTTPProblem(.conflict, "A second factor is in force.")
        }
        return try .newSecondFactor(secret, issuer: "Martlet", user: account.grant.userName)
    }
}

/// `POST /admin/me/totp/confirm` with `code`: from now on signing in asks for one. 200 with `{"recoveryCodes":[…]}`,
/// shown this once.
struct ConfirmStaffSecondFactor: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp/confirm", "confirmStaffSecondFactor", "Puts the second factor in force.",
        callers: .signedInStaff,
        body: .json(
            .object(
                [
                    "code": .string
                ], required: ["code"]
            ).closed),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ], required: ["recoveryCodes"])))
        ])

    let attempts: AttemptStore
    let secondFactors: SecondFactorStore
    let audit: AuditStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let id = try staff.uuid
        let code = try await BodyFields(request, ["code"]).requiredString("code")
        let entry = AuditEntry(by: staff, "add-second-factor", .staff, target: staff.id, from: request.staffAddress)
        let codes = try await secondFactors.confirm(
            code, of: id, counting: .staffCode(of: id), by: attempts, also: { try await audit.record(entry, $0) })
        return try .recoveryCodes(codes)
    }
}

/// `POST /admin/me/totp/recovery-codes` with `password` and `code`: ten new ones in place of the old.
struct RenewStaffRecoveryCodes: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp/recovery-codes", "renewStaffRecoveryCodes",
        "Ten new recovery codes in place of the old.", callers: .signedInStaff,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ], required: ["password", "code"]
            ).closed),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ], required: ["recoveryCodes"])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try await check.confirm(request, context, secondFactors)
        let entry = AuditEntry(by: staff, "renew-recovery-codes", .staff, target: staff.id, from: request.staffAddress)
        guard
            let codes = try await secondFactors.renewRecoveryCodes(
                of: try staff.uuid, also: { try await check.staff.audit.record(entry, $0) })
        else {
            throw HTTPProblem(.conflict, "There is no second factor.")
        }
        return try .recoveryCodes(codes)
    }
}

/// `DELETE /admin/me/totp` with `password` and `code`, 204: signing in asks for a password alone again.
struct RemoveStaffSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/admin/me/totp", "removeStaffSecondFactor", "Signing in asks for a password alone again.",
        callers: .signedInStaff,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ], required: ["password", "code"]
            ).closed),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try await check.confirm(request, context, secondFactors)
        let entry = AuditEntry(by: staff, "remove-second-factor", .staff, target: staff.id, from: request.staffAddress)
        try await secondFactors.remove(of: try staff.uuid) { try await check.staff.audit.record(entry, $0) }
        return Response(status: .noContent)
    }
}

extension StaffPasswordCheck {
    /// Password and code of the body.
    ///
    /// - Throws: as `confirm(_:of:)`; `conflict` when there is no second factor.
    fileprivate func confirm(_ request: Request, _ context: ServiceContext, _ secondFactors: SecondFactorStore)
        async throws -> StaffGrant
    {
        let staff = try context.signedInStaff
        let id = try staff.uuid
        let fields = try await BodyFields(request, ["password", "code"])
        let (password, code) = (Secret(try fields.requiredString("password")), try fields.requiredString("code"))
        _ = try await confirm(password, of: id)
        guard try await secondFactors.isAsked(of: id) else {
            throw HTTPProblem(.conflict, "There is no second factor.")
        }
        try await secondFactors.take(code, of: id, field: "code", counting: .staffCode(of: id), by: attempts)
        return staff
    }
}
