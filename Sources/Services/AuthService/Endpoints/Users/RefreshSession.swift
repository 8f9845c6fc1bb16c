import Hummingbird
import Logging
import MartletAPI
import MartletHTTP

/// `POST /auth/refresh` with `refreshToken`; 200 with new tokens, the old refresh token is used up.
///
/// A token that was used up before ends the session with all its tokens (RFC 9700 §4.14.2), unless it was replaced less
/// than ten seconds ago: then the answer was lost, and it comes again with the same refresh token.
struct RefreshSession: Endpoint {
    static let route = Route(
        .post, "/auth/refresh", "refreshSession", "New tokens for a refresh token, which is used up.", callers: .client,
        details: """
            A token that was used up before ends the session, unless it was replaced less than ten seconds ago.
            """,
        body: .json(
            .object(
                [
                    "refreshToken": .string
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.signIn))
        ])

    let sessions: SessionStore
    let signIns: SignIns
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let text = try await BodyFields(request, ["refreshToken"]).requiredString("refreshToken")
        guard let token = signIns.refreshTokens.content(of: text) else { throw HTTPProblem(.invalidToken) }
        switch try await sessions.refresh(token, in: space) {
        case .refreshed(let refreshed):
            return try signIns.answer(
                token.session, number: refreshed.number, userID: refreshed.userID, user: refreshed.user, in: space)
        case .refused:
            throw HTTPProblem(.invalidToken)
        case .reused(let userID):
            logger.warning(
                "A refresh token came a second time: its session was ended.",
                metadata: [
                    "app.id": "\(space.appID)", "user.id": "\(userID)", "session.id": "\(token.session)",
                    "request.id": "\(context.requestID)",
                ])
            throw HTTPProblem(.invalidToken)
        }
    }
}
