public import Hummingbird
public import MartletHTTP

extension ConfigService {
    public func addRoutes(to router: Router<ServiceContext>) {}
}
