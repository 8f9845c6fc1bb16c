import MartletHTTP

extension NotificationsService {
    func addMailRoutes(to routes: inout RouteTable) {
        routes.section = .mail
        routes.on(OrderMail.route, OrderMail(mail: mail))
        routes.on(ListMails.route, ListMails(mail: mail))
        routes.on(EraseMailAddress.route, EraseMailAddress(mail: mail))
        routes.on(PreviewMail.route, PreviewMail(mail: mail))
        routes.on(TestMail.route, TestMail(mail: mail))
        routes.on(ListMailTemplates.route, ListMailTemplates(mail: mail))
        routes.on(ReadMailTemplate.route, ReadMailTemplate(mail: mail))
        routes.on(ReplaceMailTemplate.route, ReplaceMailTemplate(mail: mail))
        routes.on(DeleteMailTemplate.route, DeleteMailTemplate(mail: mail))
        routes.on(ListUnsubscribed.route, ListUnsubscribed(mail: mail))
        routes.on(DeleteUnsubscribed.route, DeleteUnsubscribed(mail: mail))
        routes.on(RecordBounce.route, RecordBounce(mail: mail))
        routes.on(ListSuppressed.route, ListSuppressed(mail: mail))
        routes.on(DeleteSuppressed.route, DeleteSuppressed(mail: mail))
        routes.on(CheckBounce.route, CheckBounce(suppressed: mail.suppressed))
        routes.on(ReadMail.route, ReadMail(mail: mail))

        // Called by our own services
        routes.on(OrderMailOfService.route, OrderMailOfService(mail: mail))

        // Opened from the link in a mail
        routes.on(ShowUnsubscribe.route, ShowUnsubscribe(mail: mail))
        routes.on(Unsubscribe.route, Unsubscribe(mail: mail))
    }
}
