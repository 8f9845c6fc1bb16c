import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addMessagesRoutes(to router: Router<ServiceContext>) {}
}
