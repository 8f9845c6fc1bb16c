import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

extension ServiceContext {
    /// The app and environment whose users the request concerns. The route declares who may call.
    var userSpace: AppSpace {
        get throws { try principal.space }
    }

    /// The signed-in user, or the user named by the app's server.
    ///
    /// - Throws: `invalid-token` if there is no user.
    var signedInUser: UUID {
        get throws {
            guard let text = try principal.userID else {
                throw ServiceError(.invalidToken, "Send an access token: Authorization: Bearer ….")
            }
            guard let id = UUID(uuidString: text) else { throw ServiceError(.userNotFound) }
            return id
        }
    }

    /// The session of the access token; nil if the app's server acts for the user.
    var session: UUID? {
        get throws { try principal.sessionID.flatMap { UUID(uuidString: $0) } }
    }

    /// The user id in the path. A malformed id is `user-not-found`.
    ///
    /// - Throws: `user-not-found`.
    var userID: UUID {
        get throws { try uuid("id", else: .userNotFound) }
    }
}

extension ServiceContext {
    /// The client's address for limits, as reported by the gateway; nil for the app's own server, which acts for many
    /// clients.
    func clientAddress(of request: Request) throws -> String? {
        try principal.kind == .master ? nil : request.headers[HTTPField.Name(HeaderName.address)!] ?? ""
    }

    /// The limits for calls that reveal whether a name is taken.
    func nameLimits(of request: Request) throws -> [AttemptStore.Limit] {
        let space = try userSpace
        return try clientAddress(of: request).map { [.names($0, in: space)] } ?? []
    }
}

extension BodyFields {
    /// The name that the app gives the device.
    func device() throws -> String {
        let text = try string("device") ?? ""
        let length = text.unicodeScalars.count
        guard length <= 200 else {
            throw ServiceError(.invalidBody, "Expected at most 200 characters, found \(length).", field: "device")
        }
        return text
    }

    static let maximumProfileSizeInBytes = 16 << 10

    func userName() throws -> UserName? { try string("userName").map { try UserName($0) } }

    /// At least one of them, as the identifier for signing in.
    func userNameOrEmail() throws -> (UserName?, EmailAddress?) {
        let (userName, email) = (try userName(), try email())
        guard userName != nil || email != nil else {
            throw ServiceError(.invalidBody, "A user name or an e-mail address is required.", field: "userName")
        }
        return (userName, email)
    }

    func email() throws -> EmailAddress? { try string("email").map { try EmailAddress($0) } }

    func profile() throws -> String? { try object("profile", upTo: Self.maximumProfileSizeInBytes) }

    func privateProfile() throws -> String? { try object("private", upTo: Self.maximumProfileSizeInBytes) }
}
