import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addDevicesRoutes(to router: Router<ServiceContext>) {}
}
