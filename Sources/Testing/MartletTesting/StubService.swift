public import Logging
public import MartletHTTP
public import ServiceLifecycle

/// A service that exists only for its routes: without settings, background services and users' data, and always ready.
public protocol StubService: ServiceDefinition {
    init()
}

extension StubService {
    public static var defaultPort: Int { 0 }

    public init(settings: Settings, logger: Logger) throws { self.init() }

    public var background: [any Service] { [] }
    public var userData: any UserDataHolder { NoUserData() }
    public func isReady() async -> Bool { true }
}
