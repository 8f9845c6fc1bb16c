import Foundation
import MartletAPI
import MartletCore

/// A mail that is to be written and sent: what a job of `SendMail` has in the table. There is no secret in it; what
/// proves something is made when the mail is written.
struct MailOrder: Codable, Sendable {
    var kind: MailKind
    var appID: String
    var environment: AppEnvironment
    /// Who gets it.
    var email: String
    /// Whom it is about; nil: whoever has the address, if anybody.
    var userID: UUID?
    var invitationID: UUID?
    /// What the request asked for, the best first.
    var languages: [String] = []
    /// One of the app's `linkURLs`; nil: the first.
    var link: String?
    /// What the template says besides.
    var values: [String: String] = [:]

    init(_ kind: MailKind, to email: String, user: UUID? = nil, invitation: UUID? = nil, in space: UserSpace) {
        self.kind = kind
        appID = space.appID
        environment = space.environment
        self.email = email
        userID = user
        invitationID = invitation
    }

    var space: UserSpace { UserSpace(appID: appID, environment: environment) }

    static func passwordChanged(to email: String, of user: UUID, in space: UserSpace) -> MailOrder {
        var order = MailOrder(.passwordChanged, to: email, user: user, in: space)
        order.values["time"] = now
        return order
    }

    /// For people: `2026-11-22 02:30 UTC`.
    static var now: String {
        Date.now.formatted(.iso8601.year().month().day().dateSeparator(.dash)) + " " + clock + " UTC"
    }

    private static var clock: String {
        String(Date.now.formatted(.iso8601.time(includingFractionalSeconds: false)).prefix(5))
    }
}
