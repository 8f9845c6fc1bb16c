import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /admin/staff` with `userName`, and if wanted `password`, `isAdministrator`, `rights`, `mustReset` (true),
/// `email`; needs `staff` create. 201 with the staff member.
///
/// Without a password one is made; `password` of the answer has it, this once.
struct CreateStaff: Endpoint {
    let staff: StaffStore
    let hasher: PasswordHasher

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .create, .staff), request)
        let fields = try await BodyFields(
            request, ["userName", "password", "isAdministrator", "rights", "mustReset", "email"])
        let name = try StaffName(try fields.requiredString("userName"))
        let rights = try fields.rights() ?? .none
        let (isAdministrator, mustReset) = (
            try fields.flag("isAdministrator") ?? false, try fields.flag("mustReset") ?? true
        )
        let given = try fields.secret("password")
        if let given { try PasswordPolicy.check(given, besides: [name.text]) }
        try await staff.checkApps(of: rights)

        let password = given ?? Secret.random()
        let new = NewStaff(
            userName: name, passwordHash: try await hasher.hash(password), mustReset: mustReset,
            isAdministrator: isAdministrator, rights: rights,
            email: try fields.email())
        let json = try await staff.create(new, by: actor)
        let made = given == nil ? password.withValue { #","password":\#(JSONValue.quote($0))"# } : ""
        var response = Response.json(json.dropLast() + made + "}").notStored
        response.status = .created
        return response
    }
}

extension StaffStore {
    /// - Throws: `invalid-body` when an app does not exist.
    func checkApps(of rights: StaffRights) async throws {
        let unknown = try await unknownApps(among: rights.apps.keys.filter { $0 != StaffRights.everyApp })
        if let app = unknown.first { throw HTTPProblem(.invalidBody, "There is no app \(app).", field: "rights") }
    }
}
