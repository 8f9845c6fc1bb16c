import Hummingbird
import MartletHTTP

extension AnalyticsService {
    func addCrashesRoutes(to router: Router<ServiceContext>) {
        addIssueRoutes(to: router)
    }
}
