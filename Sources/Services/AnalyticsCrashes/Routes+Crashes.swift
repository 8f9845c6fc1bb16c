import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Routes for crash reporters, and the routes for issues. A trailing slash makes no difference.
    func addCrashesRoutes(to routes: inout RouteTable) {
        routes.section = .analytics
        routes.on(PostEnvelope.route, PostEnvelope(intake: crashes.intake))
        routes.on(PostStoredEvent.route, PostStoredEvent(intake: crashes.intake))

        routes.on(PostTBAnalyticsException.route, PostTBAnalyticsException(intake: crashes.intake))
        routes.on(ListTBAnalyticsExceptions.route, ListTBAnalyticsExceptions(spaces: spaces, thesis: crashes.thesis))

        addIssueRoutes(to: &routes)
    }
}
