import Hummingbird
import MartletHTTP

extension AnalyticsService {
    func addEventsRoutes(to router: Router<ServiceContext>) {}
}
