import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

extension ServiceContext {
    /// The app whose users it is about.
    ///
    /// - Throws: `forbidden` for keys that are not for users.
    var userSpace: UserSpace {
        get throws {
            let principal = try principal
            guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
            return UserSpace(appID: principal.appID, environment: principal.environment)
        }
    }

    /// The app whose users its own server manages.
    ///
    /// - Throws: `forbidden`.
    var managedUserSpace: UserSpace {
        get throws {
            let master = try master
            return UserSpace(appID: master.appID, environment: master.environment)
        }
    }

    /// The user who is signed in, or whom the app's server asks for.
    ///
    /// - Throws: `invalid-token` when it is nobody.
    var signedInUser: UUID {
        get throws {
            guard let text = try principal.userID else {
                throw HTTPProblem(.invalidToken, "Send an access token: Authorization: Bearer ….")
            }
            guard let id = UUID(uuidString: text) else { throw HTTPProblem(.userNotFound) }
            return id
        }
    }

    /// The session that the access token is of; nil: the app's server asks for the user.
    var session: UUID? {
        get throws { try principal.sessionID.flatMap { UUID(uuidString: $0) } }
    }

    /// The id in the path. What is no id is nobody's.
    ///
    /// - Throws: `user-not-found`.
    var userID: UUID {
        get throws {
            guard let id = parameters.get("id").flatMap({ UUID(uuidString: $0) }) else {
                throw HTTPProblem(.userNotFound)
            }
            return id
        }
    }
}

extension ServiceContext {
    /// What counts as one client, as the gateway says; nil: the app's own server, behind which many are.
    func clientAddress(of request: Request) throws -> String? {
        try principal.kind == .master ? nil : request.headers[HTTPField.Name(HeaderName.address)!] ?? ""
    }

    /// What a call counts against that tells whether somebody has a name.
    func nameLimits(of request: Request) throws -> [AttemptStore.Limit] {
        let space = try userSpace
        return try clientAddress(of: request).map { [.names($0, in: space)] } ?? []
    }
}

extension BodyFields {
    /// What the app calls the device.
    func device() throws -> String {
        let text = try string("device") ?? ""
        guard text.unicodeScalars.count <= 200 else {
            throw HTTPProblem(.invalidBody, "This may have at most 200 characters.", field: "device")
        }
        return text
    }

    /// Bytes that a profile may have.
    static let maximumProfileSize = 16 << 10

    func userName() throws -> UserName? { try string("userName").map { try UserName($0) } }

    /// One of them at least, to sign in by.
    func userNameOrEmail() throws -> (UserName?, EmailAddress?) {
        let (userName, email) = (try userName(), try email())
        guard userName != nil || email != nil else {
            throw HTTPProblem(.invalidBody, "A user name or an e-mail address is required.", field: "userName")
        }
        return (userName, email)
    }

    func email() throws -> EmailAddress? { try string("email").map { try EmailAddress($0) } }

    func profile() throws -> String? { try object("profile", upTo: Self.maximumProfileSize) }

    func privateProfile() throws -> String? { try object("private", upTo: Self.maximumProfileSize) }
}
