import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Answers successful sign-ins.
struct SignIns: Sendable {
    let signingKeys: SigningKeys
    let refreshTokens: RefreshTokens
    let staffRefreshTokens: RefreshTokens
    let now: @Sendable () -> Date

    /// `{"accessToken","expiresIn","refreshToken","user"}`.
    ///
    /// - Parameters:
    ///   - number: The number of the refresh token in its family.
    ///   - user: The JSON of the user's own view.
    func answer(
        _ session: UUID, number: Int32 = 0, userID: UUID, user: String, in space: AppSpace,
        status: HTTPResponse.Status = .ok
    ) throws -> Response {
        let token = AccessToken(
            appID: space.appID, environment: space.environment, userID: userID.uuidString.lowercased(),
            sessionID: session.uuidString.lowercased(), issued: now())
        let refresh = refreshTokens.token(.init(session: session, number: number))
        var response = Self.answer(try signer.sign(token), refresh, #""user":\#(user)"#, status)
        if status == .created { response.headers[.location] = "/auth/me" }
        return response
    }

    /// `{"accessToken","expiresIn","refreshToken","staff"}`; for a dashboard `{"expiresIn","staff"}` with cookies.
    ///
    /// - Parameter staff: The JSON of the staff member.
    func answer(
        _ session: IssuedStaffSession, of staffID: UUID, staff: String, to request: Request
    ) throws -> Response {
        let mustReset = try JSONValue(parsing: staff.utf8)["mustReset"] == .bool(true)
        let token = StaffToken(
            staffID: staffID.uuidString.lowercased(), sessionID: session.id.uuidString.lowercased(),
            mustReset: mustReset, confirmed: session.confirmed, issued: now())
        let refresh = staffRefreshTokens.token(.init(session: session.id, number: session.number))
        guard request.isFromDashboard else {
            return Self.answer(try signer.sign(token), refresh, #""staff":\#(staff)"#)
        }
        let seconds = AccessToken.lifetime.components.seconds
        var response = Response.json(#"{"expiresIn":\#(seconds),"staff":\#(staff)}"#).notStored
        StaffCookies.set(
            try signer.sign(token), for: seconds, refresh, for: session.lifetimeInSeconds, in: &response)
        return response
    }

    private var signer: AccessTokenSigner {
        get throws {
            guard let signer = signingKeys.signer else { throw ServiceError(.unavailable) }
            return signer
        }
    }

    private static func answer(
        _ access: String, _ refresh: String, _ person: String, _ status: HTTPResponse.Status = .ok
    ) -> Response {
        let seconds = AccessToken.lifetime.components.seconds
        let text = #"{"accessToken":"\#(access)","expiresIn":\#(seconds),"refreshToken":"\#(refresh)",\#(person)}"#
        return Response.json(ByteBuffer(string: text), status: status).notStored
    }
}
