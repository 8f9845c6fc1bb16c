import Foundation
import MartletAPI
import MartletCore

/// A mail to be written and sent: the parameters of a `SendMail` job. It contains no secret, because proofs are made
/// when the mail is written.
struct MailOrder: Codable, Sendable {
    var kind: MailKind
    var appID: String
    var environment: AppEnvironment
    /// The recipient's address.
    var email: String
    /// The user the mail concerns; nil for the user with the address, if any.
    var userID: UUID?
    var invitationID: UUID?
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

    static func passwordChanged(to email: String, of user: UUID, in space: AppSpace) -> MailOrder {
        var order = MailOrder(.passwordChanged, to: email, user: user, in: space)
        order.values["time"] = now
        return order
    }

    /// The current time in readable form, such as `2026-11-22 02:30 UTC`.
    static var now: String {
        Date.now.formatted(.iso8601.year().month().day().dateSeparator(.dash)) + " " + clock + " UTC"
    }

    private static var clock: String {
        String(Date.now.formatted(.iso8601.time(includingFractionalSeconds: false)).prefix(5))
    }
}
