import MartletHTTP

extension NotificationsService {
    func addTBAnalyticsRoutes(to routes: inout RouteTable) {
        routes.section = .notifications
        routes.on(SendTBAnalyticsNotification.route, SendTBAnalyticsNotification(messages: messages))
        routes.on(ListTBAnalyticsNotifications.route, ListTBAnalyticsNotifications(messages: messages))
    }
}
