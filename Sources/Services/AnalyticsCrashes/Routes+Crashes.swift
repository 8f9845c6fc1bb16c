package import MartletHTTP
import MartletPostgres

extension Crashes {
    /// Routes for crash reporters, issues and debug symbols. A trailing slash makes no difference.
    package func addRoutes(to routes: inout RouteTable, symbols: Symbols) {
        routes.section = .analytics
        routes.on(PostEnvelope.route, PostEnvelope(intake: intake))
        routes.on(PostStoredEvent.route, PostStoredEvent(intake: intake))

        routes.on(PostTBAnalyticsException.route, PostTBAnalyticsException(intake: intake))
        routes.on(ListTBAnalyticsExceptions.route, ListTBAnalyticsExceptions(spaces: spaces, exceptions: exceptions))

        addIssueRoutes(to: &routes)
        symbols.addRoutes(to: &routes)
        addSentryAPIRoutes(to: &routes, symbols: symbols)
    }
}
