import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletHTTP

/// `POST /admin/auth/refresh` with `refreshToken`; 200 with new tokens. As `RefreshSession`: a token that was used up
/// before ends the session.
struct RefreshStaffSession: Endpoint {
    static let route = Route(
        .post, "/admin/auth/refresh", "refreshStaffSession", "New tokens for a refresh token, which is used up.",
        callers: .staffSigningIn,
        body: .json(
            .object(
                [
                    "refreshToken": .string
                ], required: ["refreshToken"]
            ).closed),
        answers: [
            .answer(200, "Signed in.", .json(.staffTokens))
        ])

    let staff: StaffStore
    let sessions: StaffSessionStore
    let signIns: StaffSignIns
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.checkStaffRoute()
        let text = try await BodyFields(request, ["refreshToken"]).requiredString("refreshToken")
        guard let token = signIns.refreshTokens.content(of: text) else { throw HTTPProblem(.invalidToken) }
        switch try await sessions.refresh(token) {
        case .refreshed(let refreshed):
            return try signIns.answer(
                token.session, number: refreshed.number, of: refreshed.userID, staff: refreshed.user)
        case .refused:
            throw HTTPProblem(.invalidToken)
        case .reused(let id):
            logger.warning(
                "A refresh token of staff came a second time: its session was ended.",
                metadata: ["staff.id": "\(id)", "session.id": "\(token.session)", "request.id": "\(context.requestID)"])
            if let grant = try await staff.account(id)?.grant {
                try await staff.audit.record(
                    AuditEntry(
                        by: grant, "refresh-token-reused", .staff, target: token.session.uuidString.lowercased(),
                        from: request.staffAddress))
            }
            throw HTTPProblem(.invalidToken)
        }
    }
}
