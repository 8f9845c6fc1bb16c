import MartletHTTP

extension NotificationsService {
    func addDeliveryRoutes(to routes: inout RouteTable) {
        let records = delivery.records
        routes.section = .notifications
        routes.on(ListDeliveries.route, ListDeliveries(spaces: spaces, records: records))
        routes.on(ExportDeliveries.route, ExportDeliveries(spaces: spaces, records: records))
        routes.on(ReportOpened.route, ReportOpened(access: devices.access, records: records))
    }
}
