import MartletHTTP
import MartletPostgres

extension Crashes {
    /// The part of Sentry's API that `sentry-cli` uses. The gateway maps `/api/0/…` to `/crash/api/0/…`, because
    /// `sentry-cli` only supports servers at the root of their address. A trailing slash makes no difference.
    func addSentryAPIRoutes(to routes: inout RouteTable, symbols: Symbols) {
        routes.section = .symbols
        routes.on(DescribeSentryAPI.route, DescribeSentryAPI())
        routes.on(ListSentryRegions.route, ListSentryRegions())
        routes.on(ListSentryOrganizations.route, ListSentryOrganizations(postgres: releases.postgres, spaces: spaces))
        routes.on(ListSentryProjects.route, ListSentryProjects())
        routes.on(ListSentryRepositories.route, ListSentryRepositories())

        routes.on(ListSentryReleases.route, ListSentryReleases(releases: releases))
        routes.on(ListSentryReleases.listSentryReleasesOfProject, ListSentryReleases(releases: releases))
        routes.on(CreateSentryRelease.route, CreateSentryRelease(releases: releases))
        routes.on(ReadSentryRelease.route, ReadSentryRelease(releases: releases))
        routes.on(FinishSentryRelease.route, FinishSentryRelease(releases: releases))
        routes.on(DeleteSentryRelease.route, DeleteSentryRelease(releases: releases))
        routes.on(ListSentryCommits.route, ListSentryCommits(releases: releases))
        routes.on(ReadPreviousSentryRelease.route, ReadPreviousSentryRelease(releases: releases))
        routes.on(ListSentryDeploys.route, ListSentryDeploys(releases: releases))
        routes.on(CreateSentryDeploy.route, CreateSentryDeploy(releases: releases))

        routes.on(ListSentryIssues.route, ListSentryIssues(tracking: tracking))
        routes.on(ChangeSentryIssues.route, ChangeSentryIssues(tracking: tracking))
        routes.on(ListSentryReports.route, ListSentryReports(postgres: releases.postgres, spaces: spaces))

        routes.on(DescribeChunkUpload.route, DescribeChunkUpload(settings: symbols.settings))
        routes.on(UploadChunks.route, UploadChunks(upload: symbols.upload))
        routes.on(AssembleDebugFiles.route, AssembleDebugFiles(assembly: symbols.assembly))

        for route in RefuseSentryCall.routes { routes.on(route, RefuseSentryCall()) }
    }
}
