public import MartletHTTP

extension NotificationsService {
    public func addRoutes(to routes: inout RouteTable) {
        addDevicesRoutes(to: &routes)
        addMessagesRoutes(to: &routes)
        addDeliveryRoutes(to: &routes)
        addRulesRoutes(to: &routes)
        addMailRoutes(to: &routes)
        addTBAnalyticsRoutes(to: &routes)
    }
}
