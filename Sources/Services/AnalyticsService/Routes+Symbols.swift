import Hummingbird
import MartletHTTP

extension AnalyticsService {
    func addSymbolsRoutes(to router: Router<ServiceContext>) {}
}
