import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Answers a successful staff sign-in with `{"accessToken","expiresIn","refreshToken","staff"}`.
struct StaffSignIns: Sendable {
    let signingKeys: SigningKeys
    let refreshTokens: RefreshTokens

    /// - Parameters:
    ///   - number: The number of the refresh token in its family.
    ///   - staff: The JSON of the staff member.
    func answer(_ session: UUID, number: Int32 = 0, of staffID: UUID, staff: String) throws -> Response {
        guard let signer = signingKeys.signer else { throw ServiceError(.unavailable) }
        let mustReset = try JSONValue(parsing: staff.utf8)["mustReset"] == .bool(true)
        let access = try signer.sign(
            StaffToken(
                staffID: staffID.uuidString.lowercased(), sessionID: session.uuidString.lowercased(),
                mustReset: mustReset, issued: Date()))
        let refresh = refreshTokens.token(.init(session: session, number: number))
        let seconds = AccessToken.lifetime.components.seconds
        let text =
            #"{"accessToken":"\#(access)","expiresIn":\#(seconds),"refreshToken":"\#(refresh)","staff":\#(staff)}"#
        return Response.json(ByteBuffer(string: text)).notStored
    }
}
