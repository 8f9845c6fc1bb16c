import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /admin/me`: the staff member who is signed in.
struct ReadStaffMe: Endpoint {
    static let route = Route(
        .get, "/admin/me", "readStaffMe", "The staff member who is signed in.", callers: .signedInStaff,
        answers: [
            .answer(200, "Done.", .json(.staff))
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let json = try await staff.find(try context.signedInStaff.uuid) else { throw HTTPProblem(.staffNotFound) }
        return .json(json)
    }
}

/// `PUT /admin/me/password` with `password` and `newPassword`: 200 as after signing in, the refresh token is the one
/// that was. All other sessions end. The only way on for who must choose another password.
struct ChangeStaffPassword: Endpoint {
    static let route = Route(
        .put, "/admin/me/password", "changeStaffPassword", "Another password; all other sessions end.",
        callers: .staffBeforePasswordReset,
        details: "The only call, beside `logout`, that is open to who must choose another password.",
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "newPassword": .string.format("password"),
                ], required: ["password", "newPassword"]
            ).closed),
        answers: [
            .answer(200, "Signed in.", .json(.staffTokens))
        ])

    let check: StaffPasswordCheck
    let sessions: StaffSessionStore
    let signIns: StaffSignIns

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
            throw HTTPProblem(.invalidBody, "This is the password that was.", field: "newPassword")
        }
        let hash = try await check.hasher.hash(new)
        guard
            let json = try await check.staff.changePassword(
                of: account, to: hash, keeping: session, from: request.staffAddress)
        else {
            throw HTTPProblem(.conflict, "The password was changed meanwhile.")
        }
        guard let number = try await sessions.newestToken(of: session, of: id) else { throw HTTPProblem(.invalidToken) }
        return try signIns.answer(session, number: number, of: id, staff: json)
    }
}
