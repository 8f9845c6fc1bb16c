public import Hummingbird
public import MartletHTTP

extension AnalyticsService {
    /// Staff call `/admin/apps/{app}/analytics/…`, `…/crashes/…` and `…/tickets/…`; the gateway maps these to
    /// `/analytics/…`, `/crashes/…` and `/tickets/…`.
    public func addRoutes(to router: Router<ServiceContext>) {
        addEventsRoutes(to: router)
        addQuestionsRoutes(to: router)
        addCrashesRoutes(to: router)
        addSymbolsRoutes(to: router)
        addSentryAPIRoutes(to: router)
        addTicketsRoutes(to: router)
    }
}
