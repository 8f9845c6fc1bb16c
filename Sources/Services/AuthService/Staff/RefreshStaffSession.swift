import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// Reuse of a refresh token ends its session, like `RefreshSession`, and is recorded in the audit log.
struct RefreshStaffSession: Endpoint {
    static let route = Route(
        .post, "/admin/auth/refresh", "refreshStaffSession", "Exchanges a staff member's refresh token for new tokens.",
        callers: .staffSigningIn,
        parameters: [.dashboard],
        details: """
            A refresh token works once. If it is sent again, the session ends, unless the token was replaced \
            less than ten seconds ago: then the answer has the same new refresh token again. A dashboard sends no \
            body, because the refresh token is in a cookie.
            """,
        body: .json(
            .object(
                [
                    "refreshToken": .string
                ]
            ).closed, isRequired: false),
        answers: [
            .answer(200, "The new tokens.", .json(.staffTokens))
        ])

    let staff: StaffStore
    let sessions: SessionStore
    let signIns: SignIns
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let text = try await refreshToken(request)
        guard let token = signIns.staffRefreshTokens.content(of: text) else { throw ServiceError(.invalidToken) }
        switch try await sessions.refreshStaff(token) {
        case .refreshed(let refreshed):
            guard var issued = try await sessions.issued(token.session, of: refreshed.userID) else {
                throw ServiceError(.invalidToken)
            }
            issued.number = refreshed.number
            return try signIns.answer(issued, of: refreshed.userID, staff: refreshed.user, to: request)
        case .refused:
            throw ServiceError(.invalidToken)
        case .reused(let id):
            logger.warning(
                "A staff member's refresh token was used twice; the session was ended.",
                metadata: ["staff.id": "\(id)", "session.id": "\(token.session)", "request.id": "\(context.requestID)"])
            if let grant = try await staff.account(id)?.grant {
                try await staff.audit.record(
                    AuditEntry(
                        by: grant, "refresh-token-reused", .staff, target: token.session.uuidString.lowercased(),
                        from: request.staffAddress))
            }
            throw ServiceError(.invalidToken)
        }
    }

    private func refreshToken(_ request: Request) async throws -> String {
        let fields = try await BodyFields(request, ["refreshToken"], isOptional: request.isFromDashboard)
        guard request.isFromDashboard else { return try fields.requiredString("refreshToken") }
        guard let token = StaffCookies.refreshToken(request) else { throw ServiceError(.invalidToken) }
        return token
    }
}
