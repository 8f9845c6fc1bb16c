import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /auth/logout`, 204: the access token's session ends, with all its tokens.
struct LogOut: Endpoint {
    static let route = Route(
        .post, "/auth/logout", "logOut", "Ends the session of the access token.", callers: .user,
        answers: [
            .answer(204, "Done.")
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        guard let session = try context.session else {
            throw HTTPProblem(.invalidToken, "There is no session without an access token.")
        }
        try await sessions.end(session, of: user, in: space)
        return Response(status: .noContent)
    }
}
