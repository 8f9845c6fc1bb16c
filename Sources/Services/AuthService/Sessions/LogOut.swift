import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct LogOut: Endpoint {
    static let route = Route(
        .post, "/auth/logout", "logOut", "Ends the session of the access token.", callers: .user,
        answers: [
            .answer(204, "The session has ended with all its tokens.")
        ])
    static let logStaffOut = Route(
        .post, "/admin/auth/logout", "logStaffOut", "Ends the staff member's session.",
        callers: .staffBeforePasswordReset,
        parameters: [.dashboard],
        answers: [
            .answer(204, "The session has ended with all its tokens.")
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try context.person(request)
        guard let session = try context.session else {
            throw ServiceError(.invalidToken, "Send the access token of the session to end.")
        }
        try await sessions.end(session, of: person)
        var response = Response(status: .noContent)
        if person.isStaff, request.isFromDashboard { StaffCookies.remove(from: &response) }
        return response
    }
}
