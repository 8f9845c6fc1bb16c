import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addDeliveryRoutes(to router: Router<ServiceContext>) {}
}
