import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// What crash reporters send. A slash at the end of a path makes no difference.
    func addCrashesRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "crash/api/:project/envelope", PostEnvelope(intake: crashes.intake))
        router.on(.post, "crash/api/:project/store", PostStoredEvent(intake: crashes.intake))

        router.on(.post, "crash/api/0/organizations/:organization/releases", CreateSentryRelease(releases: crashes.releases))
        router.on(.get, "crash/api/0/organizations/:organization/releases/:version", ReadSentryRelease(releases: crashes.releases))
        router.on(.put, "crash/api/0/organizations/:organization/releases/:version", FinishSentryRelease(releases: crashes.releases))
        router.on(.get, "crash/api/0/organizations/:organization/releases/:version/commits", ListSentryCommits(releases: crashes.releases))
        let previous = ReadPreviousSentryRelease(releases: crashes.releases)
        router.on(.get, "crash/api/0/organizations/:organization/releases/:version/previous-with-commits", previous)
        router.on(.get, "crash/api/0/organizations/:organization/repos", ListSentryRepositories())

        router.on(.post, "thesis/exceptions", PostThesisException(intake: crashes.intake))
        router.on(.get, "thesis/exceptions", ListThesisExceptions(spaces: spaces, thesis: crashes.thesis))

        addIssueRoutes(to: router)
    }
}
