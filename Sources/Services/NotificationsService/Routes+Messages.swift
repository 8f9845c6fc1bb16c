import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addMessagesRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "notifications/messages", PostMessage(messages: messages))
        router.on(.get, "notifications/messages", ListMessages(messages: messages))
        router.on(.get, "notifications/messages/:id", ReadMessage(messages: messages, records: delivery.records))
        router.on(.delete, "notifications/messages/:id", ChangeMessage(act: .cancel, messages: messages))
        router.on(.post, "notifications/messages/:id/cancel", ChangeMessage(act: .cancel, messages: messages))
        router.on(.post, "notifications/messages/:id/pause", ChangeMessage(act: .pause, messages: messages))
        router.on(.post, "notifications/messages/:id/resume", ChangeMessage(act: .resume, messages: messages))
        router.on(.post, "notifications/preview", PreviewMessage(messages: messages))

        router.on(.get, "notifications/templates", ListTemplates(messages: messages))
        router.on(.get, "notifications/templates/:name", ReadTemplate(messages: messages))
        router.on(.put, "notifications/templates/:name", ReplaceTemplate(messages: messages))
        router.on(.delete, "notifications/templates/:name", DeleteTemplate(messages: messages))

        router.on(.get, "notifications/segments", ListSegments(messages: messages))
        router.on(.get, "notifications/segments/:name", ReadSegment(messages: messages))
        router.on(.put, "notifications/segments/:name", ReplaceSegment(messages: messages))
        router.on(.delete, "notifications/segments/:name", DeleteSegment(messages: messages))
        router.on(.get, "notifications/segments/:name/preview", PreviewSegment(messages: messages))

        router.on(.get, "notifications/client-rules", ReadClientRules(messages: messages))
        router.on(.put, "notifications/client-rules", ReplaceClientRules(messages: messages))
    }
}
