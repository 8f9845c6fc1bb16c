import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The member's other sessions are not confirmed.
struct ConfirmStaff: Endpoint {
    static let route = Route(
        .post, "/admin/auth/confirm", "confirmStaff",
        "Confirms who the staff member is, before a call that requires it.", callers: .signedInStaff,
        parameters: [.dashboard],
        details: """
            Calls such as `dropCollection` are refused with `confirmation-required` if the member neither signed in nor \
            made this call within the last ten minutes. `code` is required if the member has a second factor. A member \
            without a password signs in again instead. The refresh token stays the same.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string.described("A code from the authenticator app, or a recovery code."),
                ], required: ["password"]
            ).closed),
        answers: [
            .answer(200, "A new access token, with which such calls are allowed for ten minutes.", .json(.staffTokens))
        ])

    let check: StaffPasswordCheck
    let secondFactors: SecondFactorStore
    let sessions: SessionStore
    let signIns: SignIns

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (person, session) = (try context.person(request), try context.staffSession)
        let fields = try await BodyFields(request, ["password", "code"])
        _ = try await check.confirm(Secret(try fields.requiredString("password")), of: person.id)
        try await secondFactors.pass(try fields.string("code"), of: person)
        guard let issued = try await sessions.confirm(session, of: person),
            let json = try await check.staff.find(person.id)
        else { throw ServiceError(.invalidToken) }
        return try signIns.answer(issued, of: person.id, staff: json, to: request)
    }
}
