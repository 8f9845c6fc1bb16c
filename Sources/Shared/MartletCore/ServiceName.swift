public import Foundation

/// The services of a Martlet server, in the order they are started. The raw value names process, database schema and
/// settings.
public enum ServiceName: String, CaseIterable, Sendable {
    case auth, storage, config, analytics, notifications

    /// The default port of its routes. Health and metrics are 1,000 above it.
    public var port: Int {
        switch self {
        case .auth: 8201
        case .storage: 8202
        case .config: 8203
        case .analytics: 8204
        case .notifications: 8205
        }
    }

    /// The default address of its routes, on this machine.
    public var localURL: URL { URL(string: "http://127.0.0.1:\(port)")! }
}
