import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct CreateStaff: Endpoint {
    static let route = Route(
        .post, "/admin/staff", "createStaff", "Creates a staff member.", callers: .staff(.create, .staff),
        needsConfirmation: true,
        details: """
            Needs every right that is given. Without `password`, a random one is made. The password must be \
            changed at the first sign-in unless `mustReset` is false.
            """,
        body: .json(
            .object(
                [
                    "userName": .string.pattern(#"^[a-z0-9][a-z0-9._@-]{0,99}$"#),
                    "password": .string.format("password"),
                    "isAdministrator": .boolean,
                    "rights": .staffRights,
                    "mustReset": .boolean,
                    "email": .string.format("email").nullable,
                    "firstName": .string.maxLength(100).nullable,
                    "lastName": .string.maxLength(100).nullable,
                ], required: ["userName"]
            ).closed),
        answers: [
            .answer(
                201,
                """
                The staff member. If no `password` was sent, the answer has the random one, which is shown only \
                once.
                """,
                .json(
                    .all(
                        .staff,
                        .object(
                            [
                                "password": .string
                            ]))))
        ],
        errors: [409: "Another staff member has this name (`conflict`)."])

    let staff: StaffStore
    let hasher: PasswordHasher

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.staff(may: .create, .staff), request)
        let fields = try await BodyFields(
            request,
            [
                "userName", "password", "isAdministrator", "rights", "mustReset", "email", "firstName", "lastName",
            ])
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
            email: try fields.email(), firstName: try fields.personName("firstName"),
            lastName: try fields.personName("lastName"))
        let json = try await staff.create(new, by: actor)
        let member = given == nil ? password.withValue { #","password":\#(JSONValue.quote($0))"# } : ""
        var response = Response.json(json.dropLast() + member + "}").notStored
        response.status = .created
        return response
    }
}

extension StaffStore {
    /// - Throws: `invalid-body` if one of the apps does not exist.
    func checkApps(of rights: StaffRights) async throws {
        let unknown = try await unknownApps(among: rights.apps.keys.filter { $0 != StaffRights.everyApp })
        if let app = unknown.first {
            throw ServiceError(.invalidBody, "The app \(app) does not exist.", field: "rights")
        }
    }
}
