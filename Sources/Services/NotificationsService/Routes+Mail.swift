import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addMailRoutes(to router: Router<ServiceContext>) {}
}
