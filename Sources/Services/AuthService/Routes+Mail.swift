import Hummingbird
import MartletHTTP

extension AuthService {
    func addMailRoutes(to router: Router<ServiceContext>) {
        // By mail
        router.on(
            .post, "auth/email/verify", RequestEmailVerification(users: users, attempts: attempts, mailing: mailing))
        router.on(
            .post, "auth/email/verify/confirm",
            ConfirmEmailVerification(users: users, attempts: attempts, proofs: mailing.proofs))
        router.on(
            .post, "auth/email/change/confirm", ConfirmEmailChange(users: users, attempts: attempts, mailing: mailing))
        router.on(.post, "auth/password/reset", RequestPasswordReset(attempts: attempts, mailing: mailing))
        let reset = ConfirmPasswordReset(users: users, attempts: attempts, hasher: hasher, mailing: mailing)
        router.on(.post, "auth/password/reset/confirm", reset)
        router.on(.post, "auth/login/mail", RequestMailSignIn(attempts: attempts, mailing: mailing))
        let signIn = ConfirmMailSignIn(users: users, attempts: attempts, completion: completion, mailing: mailing)
        router.on(.post, "auth/login/mail/confirm", signIn)

        // By the app's server
        router.on(.post, "auth/invitations", CreateInvitation(mailing: mailing))
        router.on(.get, "auth/invitations", ListInvitations(invitations: mailing.invitations))
        router.on(.delete, "auth/invitations/:id", DeleteInvitation(invitations: mailing.invitations))
        router.on(.get, "auth/settings", ReadSettings(settings: mailing.settings))
        router.on(.put, "auth/settings", ReplaceSettings(settings: mailing.settings))
        router.on(.get, "auth/mail", ReadMailSender(mailing: mailing))
        router.on(.put, "auth/mail", ReplaceMailSender(mailing: mailing))
        router.on(.delete, "auth/mail", DeleteMailSender(mailing: mailing))
        router.on(.get, "auth/mail/templates", ListMailTemplates(templates: mailing.templates))
        router.on(.get, "auth/mail/templates/:kind/:language", ReadMailTemplate(templates: mailing.templates))
        router.on(.put, "auth/mail/templates/:kind/:language", ReplaceMailTemplate(templates: mailing.templates))
        router.on(.delete, "auth/mail/templates/:kind/:language", DeleteMailTemplate(templates: mailing.templates))
    }
}
