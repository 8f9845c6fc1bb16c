import HTTPTypes
import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// The part of Sentry's API that `sentry-cli` uses. The gateway maps `/api/0/…` to `/crash/api/0/…`, because
    /// `sentry-cli` only supports servers at the root of their address. A trailing slash makes no difference.
    func addSentryAPIRoutes(to router: Router<ServiceContext>) {
        let (releases, life) = (crashes.releases, crashes.life)
        router.on(.get, "crash/api/0", SentryAPI(DescribeSentryAPI()))
        router.on(.get, "crash/api/0/users/me/regions", SentryAPI(ListSentryRegions()))
        router.on(
            .get, "crash/api/0/organizations", SentryAPI(ListSentryOrganizations(postgres: postgres, spaces: spaces)))
        router.on(.get, "crash/api/0/organizations/:organization/projects", SentryAPI(ListSentryProjects()))
        router.on(.get, "crash/api/0/organizations/:organization/repos", SentryAPI(ListSentryRepositories()))

        router.on(
            .get, "crash/api/0/organizations/:organization/releases", SentryAPI(ListSentryReleases(releases: releases)))
        router.on(
            .get, "crash/api/0/projects/:organization/:project/releases",
            SentryAPI(ListSentryReleases(releases: releases)))
        router.on(
            .post, "crash/api/0/organizations/:organization/releases",
            SentryAPI(CreateSentryRelease(releases: releases)))
        router.on(
            .get, "crash/api/0/organizations/:organization/releases/:version",
            SentryAPI(ReadSentryRelease(releases: releases)))
        router.on(
            .put, "crash/api/0/organizations/:organization/releases/:version",
            SentryAPI(FinishSentryRelease(releases: releases)))
        router.on(
            .delete, "crash/api/0/organizations/:organization/releases/:version",
            SentryAPI(DeleteSentryRelease(releases: releases)))
        router.on(
            .get, "crash/api/0/organizations/:organization/releases/:version/commits",
            SentryAPI(ListSentryCommits(releases: releases)))
        let previous = SentryAPI(ReadPreviousSentryRelease(releases: releases))
        router.on(.get, "crash/api/0/organizations/:organization/releases/:version/previous-with-commits", previous)
        router.on(
            .get, "crash/api/0/organizations/:organization/releases/:version/deploys",
            SentryAPI(ListSentryDeploys(releases: releases)))
        router.on(
            .post, "crash/api/0/organizations/:organization/releases/:version/deploys",
            SentryAPI(CreateSentryDeploy(releases: releases)))

        router.on(.get, "crash/api/0/projects/:organization/:project/issues", SentryAPI(ListSentryIssues(life: life)))
        router.on(.put, "crash/api/0/projects/:organization/:project/issues", SentryAPI(ChangeSentryIssues(life: life)))
        router.on(
            .get, "crash/api/0/projects/:organization/:project/events",
            SentryAPI(ListSentryReports(postgres: postgres, spaces: spaces)))

        let upload = ChunkUpload(chunks: symbols.chunks, backend: symbols.backend, settings: symbols.settings)
        let assembly = Assembly(chunks: symbols.chunks, files: symbols.files, settings: symbols.settings)
        router.on(
            .get, "crash/api/0/organizations/:organization/chunk-upload",
            SentryAPI(DescribeChunkUpload(settings: symbols.settings)))
        router.on(
            .post, "crash/api/0/organizations/:organization/chunk-upload", SentryAPI(UploadChunks(upload: upload)))
        router.on(
            .post, "crash/api/0/projects/:organization/:project/files/difs/assemble",
            SentryAPI(AssembleDebugFiles(assembly: assembly)))

        for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete] {
            router.on(method, "crash/api/0/**", SentryAPI(RefuseSentryCall()))
        }
    }
}
