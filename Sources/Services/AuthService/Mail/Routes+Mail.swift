import MartletHTTP

extension AuthService {
    func addMailRoutes(to routes: inout RouteTable) {
        routes.section = .users
        // Mailed codes and links
        routes.on(
            RequestEmailVerification.route, RequestEmailVerification(users: users, attempts: attempts, mailing: mailing)
        )
        routes.on(
            ConfirmEmailVerification.route,
            ConfirmEmailVerification(users: users, attempts: attempts, proofs: mailing.proofs))
        routes.on(ConfirmEmailChange.route, ConfirmEmailChange(users: users, attempts: attempts, mailing: mailing))
        routes.on(RequestPasswordReset.route, RequestPasswordReset(attempts: attempts, mailing: mailing))
        let reset = ConfirmPasswordReset(users: users, attempts: attempts, hasher: hasher, mailing: mailing)
        routes.on(ConfirmPasswordReset.route, reset)
        routes.on(RequestMailSignIn.route, RequestMailSignIn(attempts: attempts, mailing: mailing))
        let signIn = ConfirmMailSignIn(users: users, attempts: attempts, completion: completion, mailing: mailing)
        routes.on(ConfirmMailSignIn.route, signIn)

        // Settings and invitations, managed by the app's server
        routes.on(CreateInvitation.route, CreateInvitation(mailing: mailing))
        routes.on(OrderRoleInvitationMail.route, OrderRoleInvitationMail(mailing: mailing))
        routes.on(ListInvitations.route, ListInvitations(invitations: mailing.invitations))
        routes.on(DeleteInvitation.route, DeleteInvitation(invitations: mailing.invitations))
        routes.on(ReadSettings.route, ReadSettings(settings: mailing.settings))
        routes.on(ReplaceSettings.route, ReplaceSettings(settings: mailing.settings))
        routes.on(ReadMailSender.route, ReadMailSender(mailing: mailing))
        routes.on(ReplaceMailSender.route, ReplaceMailSender(mailing: mailing))
        routes.on(DeleteMailSender.route, DeleteMailSender(mailing: mailing))
        routes.on(ListMailTemplates.route, ListMailTemplates(templates: mailing.templates))
        routes.on(ReadMailTemplate.route, ReadMailTemplate(templates: mailing.templates))
        routes.on(ReplaceMailTemplate.route, ReplaceMailTemplate(templates: mailing.templates))
        routes.on(DeleteMailTemplate.route, DeleteMailTemplate(templates: mailing.templates))
    }
}
