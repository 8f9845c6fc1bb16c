import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadStaffMe: Endpoint {
    static let route = Route(
        .get, "/admin/me", "readStaffMe", "Returns the signed-in staff member.", callers: .signedInStaff,
        answers: [
            .answer(200, "The staff member.", .json(.staff))
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let json = try await staff.find(try context.signedInStaff.uuid) else {
            throw ServiceError(.staffNotFound)
        }
        return .json(json)
    }
}

struct ChangeStaffPassword: Endpoint {
    static let route = Route(
        .put, "/admin/me/password", "changeStaffPassword", "Changes the signed-in staff member's password.",
        callers: .staffBeforePasswordReset,
        parameters: [.dashboard],
        details: """
            All other sessions of the member end. The refresh token of this session stays the same. Apart from \
            logging out, this is the only call that a member with `mustReset` can make.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "newPassword": .string.format("password"),
                ], required: ["password", "newPassword"]
            ).closed),
        answers: [
            .answer(200, "A new access token, and the staff member.", .json(.staffTokens))
        ],
        errors: [409: "A concurrent request changed the password (`conflict`)."])

    let check: StaffPasswordCheck
    let sessions: SessionStore
    let signIns: SignIns

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (staff, session) = (try context.staffBeforeReset, try context.staffSession)
        let id = try staff.uuid
        let fields = try await BodyFields(request, ["password", "newPassword"])
        let (old, new) = (
            Secret(try fields.requiredString("password")), Secret(try fields.requiredString("newPassword"))
        )
        try PasswordPolicy.check(new, field: "newPassword", besides: [staff.userName])
        let account = try await check.confirm(old, of: id)
        guard old.withValue({ old in new.withValue { $0 != old } }) else {
            throw ServiceError(.invalidBody, "The new password must differ from the current one.", field: "newPassword")
        }
        let hash = try await check.hasher.hash(new)
        guard
            let json = try await check.staff.changePassword(
                of: account, to: hash, keeping: session, from: request.staffAddress)
        else {
            throw ServiceError(.conflict, "The password was changed by another request.")
        }
        guard let issued = try await sessions.issued(session, of: id) else {
            throw ServiceError(.invalidToken)
        }
        return try signIns.answer(issued, of: id, staff: json, to: request)
    }
}
