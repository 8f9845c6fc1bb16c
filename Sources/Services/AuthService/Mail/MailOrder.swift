import Foundation
import MartletAPI
import MartletCore

/// A mail to be written and sent: the parameters of a `SendMail` job. It contains no readable secret: proofs are
/// created when the mail is written, and a code from another service is encrypted.
struct MailOrder: Codable, Sendable {
    var kind: MailKind
    var appID: String
    var environment: AppEnvironment
    /// The recipient's address.
    var email: String
    /// The user the mail concerns; nil for the user with the address, if any.
    var userID: UUID?
    var invitationID: UUID?
    /// The code of an invitation to a role, as `SealedCodes` encrypts it.
    var sealedCode: Data?
    /// The languages from the request, the best first.
    var languages: [String] = []
    /// One of the app's `linkURLs`; nil for the first.
    var link: String?
    /// Further values for the template.
    var values: [String: String] = [:]

    init(_ kind: MailKind, to email: String, user: UUID? = nil, invitation: UUID? = nil, in space: AppSpace) {
        self.kind = kind
        appID = space.appID
        environment = space.environment
        self.email = email
        userID = user
        invitationID = invitation
    }

    var space: AppSpace { AppSpace(appID: appID, environment: environment) }
}
