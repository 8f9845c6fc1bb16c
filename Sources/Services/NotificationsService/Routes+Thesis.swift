import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addThesisRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "thesis/notification", SendThesisNotification(messages: messages))
        router.on(.get, "thesis/notifications", ListThesisNotifications(messages: messages))
    }
}
