public import Hummingbird
public import MartletHTTP

extension NotificationsService {
    public func addRoutes(to router: Router<ServiceContext>) {
        addDevicesRoutes(to: router)
        addMessagesRoutes(to: router)
        addDeliveryRoutes(to: router)
        addRulesRoutes(to: router)
        addMailRoutes(to: router)
        addTBAnalyticsRoutes(to: router)
    }
}
