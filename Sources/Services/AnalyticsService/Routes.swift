public import Hummingbird
public import MartletHTTP

extension AnalyticsService {
    public func addRoutes(to router: Router<ServiceContext>) {}
}
