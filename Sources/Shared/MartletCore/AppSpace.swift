public import MartletAPI

/// An app in one of its environments. Spaces are independent of each other.
public struct AppSpace: Sendable, Hashable {
    public let appID: String
    public let environment: AppEnvironment

    public init(appID: String, environment: AppEnvironment) {
        self.appID = appID
        self.environment = environment
    }

    /// Reads `text`; nil for any other form.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let environment = AppEnvironment(rawValue: String(parts[0])) else { return nil }
        self.init(appID: String(parts[1]), environment: environment)
    }

    /// `<environment>:<app id>`, the form used in notifications.
    public var text: String { environment.rawValue + ":" + appID }
}

extension Principal {
    /// The app and environment that the caller acts on.
    public var space: AppSpace { AppSpace(appID: appID, environment: environment) }
}
