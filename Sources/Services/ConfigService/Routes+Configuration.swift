import Hummingbird
import MartletHTTP

extension ConfigService {
    /// Remote configurations, and which versions are live for the other services.
    func addConfigurationRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "remote", PostConfiguration(remote: remote, upload: uploadConfiguration))
        router.on(.get, "remote/:version", ReadConfiguration(remote: remote))
        router.on(.get, "remote/:version/:theme", ReadConfiguration(remote: remote))
        router.on(.get, "config/catalogue", ReadCatalogue())
        router.on(.get, "internal/config/live", ReadLiveVersions(feed: liveVersions))
    }

    private var remote: RemoteConfiguration { RemoteConfiguration(live: live, experiments: experiments, users: users) }
    private var uploadConfiguration: UploadConfiguration {
        UploadConfiguration(documents: documents, publisher: publisher, live: live)
    }
}
