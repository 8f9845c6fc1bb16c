public import MartletHTTP

extension AnalyticsService {
    /// Staff call `/admin/apps/{app}/analytics/…`, `…/crashes/…` and `…/tickets/…`; the gateway maps these to
    /// `/analytics/…`, `/crashes/…` and `/tickets/…`.
    public func addRoutes(to routes: inout RouteTable) {
        addEventsRoutes(to: &routes)
        addQuestionsRoutes(to: &routes)
        addCrashesRoutes(to: &routes)
        addSymbolsRoutes(to: &routes)
        addSentryAPIRoutes(to: &routes)
        addTicketsRoutes(to: &routes)
    }
}
