import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Routes for crash reporters, and the routes for issues. A trailing slash makes no difference.
    func addCrashesRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "crash/api/:project/envelope", PostEnvelope(intake: crashes.intake))
        router.on(.post, "crash/api/:project/store", PostStoredEvent(intake: crashes.intake))

        router.on(.post, "thesis/exceptions", PostTBAnalyticsException(intake: crashes.intake))
        router.on(.get, "thesis/exceptions", ListTBAnalyticsExceptions(spaces: spaces, thesis: crashes.thesis))

        addIssueRoutes(to: router)
    }
}
