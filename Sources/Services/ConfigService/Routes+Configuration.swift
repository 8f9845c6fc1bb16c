import MartletHTTP

extension ConfigService {
    /// Remote configurations, and the live versions for the other services.
    func addConfigurationRoutes(to routes: inout RouteTable) {
        routes.section = .config
        routes.on(PostConfiguration.route, PostConfiguration(remote: remote, upload: uploadConfiguration))
        routes.on(ReadConfiguration.route, ReadConfiguration(remote: remote))
        routes.on(ReadConfiguration.readThemedConfiguration, ReadConfiguration(remote: remote))
        routes.on(ReadCatalogue.route, ReadCatalogue())
        routes.on(ReadLiveVersions.route, ReadLiveVersions(feed: liveVersions))
    }

    private var remote: RemoteConfiguration { RemoteConfiguration(live: live, experiments: experiments, users: users) }
    private var uploadConfiguration: UploadConfiguration {
        UploadConfiguration(documents: documents, publisher: publisher, live: live)
    }
}
