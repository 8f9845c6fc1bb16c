import MartletHTTP

extension NotificationsService {
    func addMessagesRoutes(to routes: inout RouteTable) {
        routes.section = .notifications
        routes.on(PostMessage.route, PostMessage(messages: messages))
        routes.on(ListMessages.route, ListMessages(messages: messages))
        routes.on(CountMessages.route, CountMessages(messages: messages))
        routes.on(ReadMessage.route, ReadMessage(messages: messages, records: delivery.records))
        routes.on(ChangeMessage.route, ChangeMessage(action: .cancel, messages: messages))
        routes.on(ChangeMessage.cancelMessage, ChangeMessage(action: .cancel, messages: messages))
        routes.on(ChangeMessage.pauseMessage, ChangeMessage(action: .pause, messages: messages))
        routes.on(ChangeMessage.resumeMessage, ChangeMessage(action: .resume, messages: messages))
        routes.on(PreviewMessage.route, PreviewMessage(messages: messages))

        routes.on(ListTemplates.route, ListTemplates(messages: messages))
        routes.on(ReadTemplate.route, ReadTemplate(messages: messages))
        routes.on(ReplaceTemplate.route, ReplaceTemplate(messages: messages))
        routes.on(DeleteTemplate.route, DeleteTemplate(messages: messages))

        routes.on(ListSegments.route, ListSegments(messages: messages))
        routes.on(ReadSegment.route, ReadSegment(messages: messages))
        routes.on(ReplaceSegment.route, ReplaceSegment(messages: messages))
        routes.on(DeleteSegment.route, DeleteSegment(messages: messages))
        routes.on(PreviewSegment.route, PreviewSegment(messages: messages))

        routes.on(ReadClientRules.route, ReadClientRules(messages: messages))
        routes.on(ReplaceClientRules.route, ReplaceClientRules(messages: messages))
    }
}
