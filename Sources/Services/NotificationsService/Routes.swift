public import Hummingbird
public import MartletHTTP

extension NotificationsService {
    public func addRoutes(to router: Router<ServiceContext>) {}
}
