import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Answers a successful sign-in with `{"accessToken","expiresIn","refreshToken","user"}`.
struct SignIns: Sendable {
    let signingKeys: SigningKeys
    let refreshTokens: RefreshTokens

    /// - Parameters:
    ///   - number: The number of the refresh token in its family.
    ///   - user: The JSON of the user's own view.
    func answer(
        _ session: UUID, number: Int32 = 0, userID: UUID, user: String, in space: AppSpace,
        status: HTTPResponse.Status = .ok
    ) throws -> Response {
        guard let signer = signingKeys.signer else { throw ServiceError(.unavailable) }
        let token = AccessToken(
            appID: space.appID, environment: space.environment, userID: userID.uuidString.lowercased(),
            sessionID: session.uuidString.lowercased(), issued: Date())
        let access = try signer.sign(token)
        let refresh = refreshTokens.token(.init(session: session, number: number))
        let seconds = AccessToken.lifetime.components.seconds
        let text = #"{"accessToken":"\#(access)","expiresIn":\#(seconds),"refreshToken":"\#(refresh)","user":\#(user)}"#
        var response = Response.json(ByteBuffer(string: text), status: status).notStored
        if status == .created { response.headers[.location] = "/auth/me" }
        return response
    }
}
