import Hummingbird
import MartletHTTP

extension AnalyticsService {
    func addTicketsRoutes(to router: Router<ServiceContext>) {}
}
