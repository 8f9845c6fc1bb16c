public import Hummingbird
public import MartletHTTP

extension AuthService {
    public func addRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "internal/keyring", ReadKeyRing(feed: feed))
        router.on(.post, "internal/credentials/used", RecordCredentialUse(credentials: credentials))
    }
}
