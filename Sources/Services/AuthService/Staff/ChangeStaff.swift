import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ChangeStaff: Endpoint {
    static let route = Route(
        .patch, "/admin/staff/{id}", "changeStaff", "Changes a staff member.", callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ], needsConfirmation: true,
        details: """
            Needs every right that the member has or is given. `rights` replaces all of the member's rights, \
            within two seconds. A new password must be changed at the next sign-in unless `mustReset` is false. \
            All of the member's sessions end if a password is set, or if `mustReset` or `disabled` is true.
            """,
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
                    "firstName": .string.maxLength(100).nullable,
                    "lastName": .string.maxLength(100).nullable,
                ]).closed),
        answers: [
            .answer(200, "The changed staff member.", .json(.staff))
        ],
        errors: [
            404: "There is no such staff member (`staff-not-found`).",
            409: "Another staff member has this name, or no administrator would remain (`conflict`).",
        ])

    let staff: StaffStore
    let hasher: PasswordHasher

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        let id = try context.staffID
        let fields = try await BodyFields(
            request,
            [
                "userName", "password", "mustReset", "isAdministrator", "rights", "disabled", "email", "firstName",
                "lastName",
            ])
        var change = StaffChange(
            userName: try fields.staffName(), mustReset: try fields.flag("mustReset"),
            isAdministrator: try fields.flag("isAdministrator"),
            rights: try fields.rights(), isDisabled: try fields.flag("disabled"),
            email: fields["email"] == nil ? nil : .some(try fields.email()),
            firstName: fields["firstName"] == nil ? nil : .some(try fields.personName("firstName")),
            lastName: fields["lastName"] == nil ? nil : .some(try fields.personName("lastName")))
        if let password = try fields.secret("password") {
            guard id != actor.id else {
                throw ServiceError(
                    .invalidBody, "Change your own password with PUT /admin/me/password.", field: "password")
            }
            try PasswordPolicy.check(password, besides: [change.userName?.text])
            change.passwordHash = try await hasher.hash(password)
            change.mustReset = change.mustReset ?? true
        }
        try await staff.checkApps(of: change.rights ?? .none)
        return .json(try await staff.change(id, change, by: actor))
    }
}

struct DeleteStaff: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}", "deleteStaff", "Deletes a staff member.", callers: .staff(.delete, .staff),
        parameters: [
            .path("id", .uuid)
        ], needsConfirmation: true,
        details: "Needs every right that the member has. The audit log keeps the member's name.",
        answers: [
            .answer(204, "The staff member is deleted.")
        ],
        errors: [
            404: "There is no such staff member (`staff-not-found`).",
            409: "No administrator would remain (`conflict`).",
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .delete, .staff), request)
        try await staff.delete(try context.staffID, by: actor)
        return Response(status: .noContent)
    }
}

struct ResetStaffSecondFactor: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}/totp", "resetStaffSecondFactor",
        "Removes the second factor of a staff member, for example because the authenticator app is lost.",
        callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ], needsConfirmation: true,
        details: """
            Needs every right that the member has. All of the member's sessions end. Staff cannot remove their \
            own second factor with this call.
            """,
        answers: [
            .answer(204, "Signing in requires only the password.")
        ],
        errors: [
            404: "There is no such staff member (`staff-not-found`).",
            409: "The second factor is the caller's own (`conflict`).",
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        let id = try context.staffID
        guard id != actor.id else {
            throw ServiceError(.conflict, "Remove your own second factor with DELETE /admin/me/totp.")
        }
        try await staff.removeSecondFactor(of: id, by: actor)
        return Response(status: .noContent)
    }
}

struct EndSessionsOfStaff: Endpoint {
    static let route = Route(
        .delete, "/admin/staff/{id}/sessions", "endSessionsOfStaff", "Ends all sessions of a staff member.",
        callers: .staff(.update, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs every right that the member has.",
        answers: [
            .answer(204, "The sessions have ended.")
        ],
        errors: [404: "There is no such staff member (`staff-not-found`)."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .update, .staff), request)
        try await staff.endSessions(of: try context.staffID, by: actor)
        return Response(status: .noContent)
    }
}
