import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// Answers `RoleInvitationMail` with its outcome.
struct OrderRoleInvitationMail: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/mail/role-invitations")

    /// Limits what a user can send to strangers, whatever roles they manage.
    static let mailsPerInviterAndHour = 20
    /// Invitations may use a quarter of an app's hourly mails, so that codes for signing in can still be sent.
    private static let limitDivisor = 4

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .encoding(RoleInvitationMail.Answer(try await outcome(try await request.decoded(RoleInvitationMail.self))))
    }

    private func outcome(_ mail: RoleInvitationMail) async throws -> RoleInvitationMail.Outcome {
        let space = AppSpace(appID: mail.app, environment: mail.environment)
        guard let address = try? EmailAddress(mail.email) else { return .invalidEmail }
        var order = MailOrder(.roleInvitation, to: address.text, in: space)
        if let language = mail.language {
            guard let tag = LanguageTag(language) else { return .invalidLanguage }
            order.languages = [tag.text]
        }
        let settings = try await mailing.settings.current(in: space).settings
        if let link = mail.link {
            guard settings.linkURLs.contains(link) else { return .unknownLink }
            order.link = link
        }
        guard try await mailing.outbox.canSendMail(in: space) else { return .noMailServer }
        if let inviter = mail.inviter {
            let counted = ["inviter", space.appID, space.environment.rawValue, inviter]
            let most = settings.mailsPerHour / Self.limitDivisor
            guard try await mailing.counts.admit(counted, limit: Self.mailsPerInviterAndHour),
                try await mailing.counts.admit(["inviters", space.appID, space.environment.rawValue], limit: most)
            else { return .tooManyMails }
        }
        order.values["role"] = mail.role
        order.sealedCode = try mailing.codes.seal(mail.code, secondsLeft: mail.secondsLeft, for: order)
        do {
            try await mailing.outbox.place(order)
        } catch let error as ServiceError where error.code == .tooManyRequests {
            return .tooManyMails
        }
        return .ordered
    }
}
