public import Hummingbird
public import MartletHTTP

extension AnalyticsService {
    /// Staff ask under `/admin/apps/{app}/analytics/…`, `…/crashes/…` and `…/tickets/…`, of which the gateway makes `/analytics/…`,
    /// `/crashes/…` and `/tickets/…`.
    public func addRoutes(to router: Router<ServiceContext>) {
        addEventsRoutes(to: router)
        addQuestionsRoutes(to: router)
        addCrashesRoutes(to: router)
        addSymbolsRoutes(to: router)
        addSentryAPIRoutes(to: router)
        addTicketsRoutes(to: router)
    }
}
