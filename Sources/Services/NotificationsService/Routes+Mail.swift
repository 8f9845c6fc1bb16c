import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addMailRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "notifications/mail", OrderMail(mail: mail))
        router.on(.get, "notifications/mail", ListMails(mail: mail))
        router.on(.delete, "notifications/mail", EraseMailAddress(mail: mail))
        router.on(.post, "notifications/mail/preview", PreviewMail(mail: mail))
        router.on(.post, "notifications/mail/test", TestMail(mail: mail))
        router.on(.get, "notifications/mail/templates", ListMailTemplates(mail: mail))
        router.on(.get, "notifications/mail/templates/:name", ReadMailTemplate(mail: mail))
        router.on(.put, "notifications/mail/templates/:name", ReplaceMailTemplate(mail: mail))
        router.on(.delete, "notifications/mail/templates/:name", DeleteMailTemplate(mail: mail))
        router.on(.get, "notifications/mail/unsubscribed", ListUnsubscribed(mail: mail))
        router.on(.delete, "notifications/mail/unsubscribed", DeleteUnsubscribed(mail: mail))
        router.on(.post, "notifications/mail/bounces", NoteBounce(mail: mail))
        router.on(.get, "notifications/mail/suppressed", ListSuppressed(mail: mail))
        router.on(.delete, "notifications/mail/suppressed", DeleteSuppressed(mail: mail))
        router.on(.post, "internal/mail/returned", IsMailReturned(suppressed: mail.suppressed))
        router.on(.get, "notifications/mail/:id", ReadMail(mail: mail))

        // Called by our own services
        router.on(.post, "internal/notifications/mail", OrderMailOfService(mail: mail))

        // Opened from the link in a mail
        router.on(.get, "mail/unsubscribe/:token", ShowUnsubscribe(mail: mail))
        router.on(.post, "mail/unsubscribe/:token", Unsubscribe(mail: mail))
    }
}
