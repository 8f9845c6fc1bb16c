public import Foundation

/// An app on a Martlet server: the place where everything begins.
///
/// ```swift
/// let martlet = Martlet(url: URL(string: "https://api.example.org")!, appKey: "mk_live_…", secret: "ms_…")
/// let events = try await martlet.storage.find(Event.query().where(\.sport == "tennis").limit(20))
/// ```
///
/// Make one client when the app starts and pass it to what needs it. It may be used from any task.
public final class Martlet: Sendable {
    /// The two copies of an app's data.
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
    ///   - secret: Of the app, `ms_…`. It is public: rules on the server decide what it opens.
    public convenience init(url: URL, appKey: String, secret: String) {
        self.init(Configuration(url: url, appKey: appKey, secret: secret))
    }
}
