public import Foundation

/// A client of an app on a Martlet server, from which all functions can be reached.
///
/// ```swift
/// let martlet = Martlet(url: URL(string: "https://api.example.org")!, appKey: "mk_live_…", secret: "ms_…")
/// let events = try await martlet.storage.find(Event.query().where(\.sport == "tennis").limit(20))
/// ```
///
/// Create one client when the app starts, and pass it to the code that needs it. A client can be used from any task.
public final class Martlet: Sendable {
    /// The two environments of an app. Each has its own data.
    public enum Environment: String, Sendable, Hashable {
        case live, test
    }

    public let configuration: Configuration
    package let api: APIClient
    let session: SessionKeeper
    package let parts: Parts

    public init(_ configuration: Configuration) {
        self.configuration = configuration
        session = SessionKeeper(configuration)
        api = APIClient(configuration, session: session)
        parts = Parts(configuration, api: api)
    }

    /// - Parameters:
    ///   - url: The server's address, without `/api`.
    ///   - appKey: Identifies the app and the environment, `mk_live_…` or `mk_test_…`.
    ///   - secret: The app's secret, `ms_…`. It ships with the app, so rules on the server decide what it gives access
    ///     to.
    public convenience init(url: URL, appKey: String, secret: String) {
        self.init(Configuration(url: url, appKey: appKey, secret: secret))
    }
}
