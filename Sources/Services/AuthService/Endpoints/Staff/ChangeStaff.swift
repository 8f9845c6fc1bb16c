import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `PATCH /admin/staff/{id}` with `userName`, `password`, `mustReset`, `isAdministrator`, `rights`, `disabled`,
/// `email`; needs `staff` update. 200 with the staff member.
///
/// `rights` take the place of all that were, and are in force within two seconds at every gateway. A new password has
/// to be changed at the next sign-in unless `mustReset` is false; it ends all sessions, as do `mustReset` and
/// `disabled`. One's own password is not changed here.
struct ChangeStaff: Endpoint {
    static let route = Route(
        .patch, "/admin/staff/{id}", "changeStaff", "Changes a staff member.", callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` update, and every right that the member has or is given.",
        body: .json(
            .object(
                [
                    "userName": .string.pattern(#"^[a-z0-9][a-z0-9._@-]{0,99}$"#),
                    "password": .string.format("password"),
                    "isAdministrator": .boolean,
                    "rights": .staffRights,
                    "mustReset": .boolean,
                    "disabled": .boolean,
                    "email": .string.format("email").nullable,
                ]).closed),
        answers: [
            .answer(200, "Done.", .json(.staff))
        ],
        errors: [404: "Not found.", 409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let staff: StaffStore
    let hasher: PasswordHasher

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        let id = try context.staffID
        let fields = try await BodyFields(
            request, ["userName", "password", "mustReset", "isAdministrator", "rights", "disabled", "email"])
        var change = StaffChange(
            userName: try fields.staffName(), mustReset: try fields.flag("mustReset"),
            isAdministrator: try fields.flag("isAdministrator"),
            rights: try fields.rights(), isDisabled: try fields.flag("disabled"),
            email: fields["email"] == nil ? nil : .some(try fields.email()))
        if let password = try fields.secret("password") {
            guard id != actor.id else {
                throw HTTPProblem(.invalidBody, "PUT /admin/me/password changes one's own.", field: "password")
            }
            try PasswordPolicy.check(password, besides: [change.userName?.text])
            change.passwordHash = try await hasher.hash(password)
            change.mustReset = change.mustReset ?? true
        }
        try await staff.checkApps(of: change.rights ?? .none)
        return .json(try await staff.change(id, change, by: actor))
    }
}

/// `DELETE /admin/staff/{id}`, 204; needs `staff` delete. What they did stays in the audit log under their name.
struct DeleteStaff: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}", "deleteStaff", "Deletes a staff member.", callers: .staff(.delete, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` delete, and every right that the member has.",
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found.", 409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .delete, .staff), request)
        try await staff.delete(try context.staffID, by: actor)
        return Response(status: .noContent)
    }
}

/// `DELETE /admin/staff/{id}/totp`, 204, when somebody has lost app and codes: their sessions end, and the password
/// alone signs them in. Needs `staff` update. Not for oneself: that takes password and code.
struct ResetStaffSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}/totp", "resetStaffSecondFactor",
        "Takes a second factor away, when app and codes are lost.", callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` update. Not for oneself.",
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found.", 409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        let id = try context.staffID
        guard id != actor.id else { throw HTTPProblem(.conflict, "DELETE /admin/me/totp removes one's own.") }
        try await staff.removeSecondFactor(of: id, by: actor)
        return Response(status: .noContent)
    }
}

/// `DELETE /admin/staff/{id}/sessions`, 204: they are signed in nowhere any more. Needs `staff` update.
struct EndSessionsOfStaff: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}/sessions", "endSessionsOfStaff", "Signs a staff member out everywhere.",
        callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` update.",
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        try await staff.endSessions(of: try context.staffID, by: actor)
        return Response(status: .noContent)
    }
}
