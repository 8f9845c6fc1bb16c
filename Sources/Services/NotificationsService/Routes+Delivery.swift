import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addDeliveryRoutes(to router: Router<ServiceContext>) {
        let records = delivery.records
        router.on(.get, "notifications/messages/:id/deliveries", ListDeliveries(spaces: spaces, records: records))
        router.on(
            .get, "notifications/messages/:id/deliveries/export", ExportDeliveries(spaces: spaces, records: records))
        router.on(.post, "installations/:id/opened", ReportOpened(access: devices.access, records: records))
    }
}
