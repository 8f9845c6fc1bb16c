import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addTBAnalyticsRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "thesis/notification", SendTBAnalyticsNotification(messages: messages))
        router.on(.get, "thesis/notifications", ListTBAnalyticsNotifications(messages: messages))
    }
}
