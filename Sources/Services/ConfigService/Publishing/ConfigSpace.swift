import MartletAPI

/// An environment of an app. Spaces know nothing of each other.
struct ConfigSpace: Hashable, Sendable {
    let appID: String
    let environment: AppEnvironment

    /// As notifications name it.
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
