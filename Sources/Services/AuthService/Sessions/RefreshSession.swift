import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// Reuse of a refresh token ends its session (RFC 9700 §4.14.2). Within ten seconds, a repeated call is treated as a
/// retry after a lost answer and gets the same new refresh token.
struct RefreshSession: Endpoint {
    static let route = Route(
        .post, "/auth/refresh", "refreshSession", "Exchanges a refresh token for new tokens.", callers: .client,
        details: """
            A refresh token works once. If it is sent again, the session ends, unless the token was replaced \
            less than ten seconds ago: then the answer has the same new refresh token again.
            """,
        body: .json(
            .object(
                [
                    "refreshToken": .string
                ])),
        answers: [
            .answer(200, "The new tokens.", .json(.signIn))
        ])

    let sessions: SessionStore
    let signIns: SignIns
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let text = try await BodyFields(request, ["refreshToken"]).requiredString("refreshToken")
        guard let token = signIns.refreshTokens.content(of: text) else { throw ServiceError(.invalidToken) }
        switch try await sessions.refresh(token, in: space) {
        case .refreshed(let refreshed):
            return try signIns.answer(
                token.session, number: refreshed.number, userID: refreshed.userID, user: refreshed.user, in: space)
        case .refused:
            throw ServiceError(.invalidToken)
        case .reused(let userID):
            logger.warning(
                "A refresh token was used twice; the session was ended.",
                metadata: [
                    "app.id": "\(space.appID)", "user.id": "\(userID)", "session.id": "\(token.session)",
                    "request.id": "\(context.requestID)",
                ])
            throw ServiceError(.invalidToken)
        }
    }
}
