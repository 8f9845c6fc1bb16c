import AnalyticsCrashes
import AnalyticsEvents
import AnalyticsTickets
public import MartletHTTP

extension AnalyticsService {
    /// Staff call `/admin/apps/{app}/analytics/…`, `…/crashes/…` and `…/tickets/…`; the gateway maps these to
    /// `/analytics/…`, `/crashes/…` and `/tickets/…`.
    public func addRoutes(to routes: inout RouteTable) {
        events.addRoutes(to: &routes)
        questions.addRoutes(to: &routes)
        crashes.addRoutes(to: &routes, symbols: symbols)
        tickets.addRoutes(to: &routes)
    }
}
