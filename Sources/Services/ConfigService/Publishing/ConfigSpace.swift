import MartletAPI

/// An environment of an app. Spaces are independent of each other.
struct ConfigSpace: Hashable, Sendable {
    let appID: String
    let environment: AppEnvironment

    /// The form used in notifications.
    var text: String { environment.rawValue + ":" + appID }

    init(appID: String, environment: AppEnvironment) {
        self.appID = appID
        self.environment = environment
    }

    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let environment = AppEnvironment(rawValue: String(parts[0])) else { return nil }
        self.init(appID: String(parts[1]), environment: environment)
    }
}
