import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addRulesRoutes(to router: Router<ServiceContext>) {}
}
