import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct AddStaffSecondFactor: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp", "addStaffSecondFactor", "Creates a secret for the staff member's authenticator app.",
        callers: .signedInStaff,
        details: """
            Signing in asks for a code only after the secret is confirmed. Until then, another call replaces the \
            secret.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ], required: ["password"]
            ).closed),
        answers: [
            .answer(
                200, "The secret, and its `otpauth` URI for a QR code.",
                .json(
                    .object(
                        [
                            "secret": .string,
                            "uri": .uri,
                        ], required: ["secret", "uri"])))
        ],
        errors: [409: "A second factor is already active (`conflict`)."])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let password = Secret(try await BodyFields(request, ["password"]).requiredString("password"))
        let account = try await check.confirm(password, of: try staff.uuid)
        guard let secret = try await secondFactors.begin(of: account.id) else {
            throw ServiceError(.conflict, "A second factor is already active; remove it first.")
        }
        return try .newSecondFactor(secret, issuer: "Martlet", user: account.grant.userName)
    }
}

struct ConfirmStaffSecondFactor: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp/confirm", "confirmStaffSecondFactor", "Activates the staff member's second factor.",
        callers: .signedInStaff,
        details: "From then on, signing in requires a code.",
        body: .json(
            .object(
                [
                    "code": .string
                ], required: ["code"]
            ).closed),
        answers: [
            .answer(
                200, "The recovery codes, which are shown only once.",
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

struct RenewStaffRecoveryCodes: Endpoint {
    static let route = Route(
        .post, "/admin/me/totp/recovery-codes", "renewStaffRecoveryCodes",
        "Replaces all recovery codes of the staff member with ten new ones.", callers: .signedInStaff,
        details: "`code` is a code from the authenticator app, or a recovery code.",
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ], required: ["password", "code"]
            ).closed),
        answers: [
            .answer(
                200, "The recovery codes, which are shown only once.",
                .json(
                    .object(
                        [
                            "recoveryCodes": .array(of: .string)
                        ], required: ["recoveryCodes"])))
        ],
        errors: [409: "The staff member has no second factor (`conflict`)."])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try await check.confirm(request, context, secondFactors)
        let entry = AuditEntry(by: staff, "renew-recovery-codes", .staff, target: staff.id, from: request.staffAddress)
        guard
            let codes = try await secondFactors.renewRecoveryCodes(
                of: try staff.uuid, also: { try await check.staff.audit.record(entry, $0) })
        else {
            throw ServiceError(.conflict, "The staff member has no second factor.")
        }
        return try .recoveryCodes(codes)
    }
}

struct RemoveStaffSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/admin/me/totp", "removeStaffSecondFactor", "Removes the signed-in staff member's second factor.",
        callers: .signedInStaff,
        details: "`code` is a code from the authenticator app, or a recovery code.",
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ], required: ["password", "code"]
            ).closed),
        answers: [
            .answer(204, "Signing in no longer requires a code.")
        ],
        errors: [409: "The staff member has no second factor (`conflict`)."])

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
    /// Checks the password and the code in the body.
    ///
    /// - Throws: The errors of `confirm(_:of:)`; `conflict` if the member has no second factor.
    fileprivate func confirm(_ request: Request, _ context: ServiceContext, _ secondFactors: SecondFactorStore)
        async throws -> StaffGrant
    {
        let staff = try context.signedInStaff
        let id = try staff.uuid
        let fields = try await BodyFields(request, ["password", "code"])
        let (password, code) = (Secret(try fields.requiredString("password")), try fields.requiredString("code"))
        _ = try await confirm(password, of: id)
        guard try await secondFactors.isAsked(of: id) else {
            throw ServiceError(.conflict, "The staff member has no second factor.")
        }
        try await secondFactors.take(code, of: id, field: "code", counting: .staffCode(of: id), by: attempts)
        return staff
    }
}
