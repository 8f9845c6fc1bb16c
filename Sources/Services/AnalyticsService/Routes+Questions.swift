import Hummingbird
import MartletHTTP

extension AnalyticsService {
    func addQuestionsRoutes(to router: Router<ServiceContext>) {}
}
