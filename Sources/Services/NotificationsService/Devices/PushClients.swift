import Foundation
import Logging
import MartletHTTP
import MartletPush
import Synchronization

/// The addresses of the push services. Tests replace the defaults.
struct PushHosts: Sendable {
    var apns: @Sendable (APNsEnvironment) -> APNsConfiguration = { APNsConfiguration($0) }
    var fcmAddress = FCMClient.address
    /// The HTTP client for FCM and web push.
    var outgoing = OutgoingClient(.publicAddresses(), version: .upToHTTP2)

    init() {}

    /// Reads `push.apns.production` and `push.apns.sandbox` (each `host:port`), `push.apns.certificates` (a PEM file),
    /// `push.fcm.url` and `push.private.allowed`.
    ///
    /// - Throws: `SettingsError`, or an error from reading the file.
    init(_ settings: Settings) throws {
        let named = [
            APNsEnvironment.production: settings.optionalString("push.apns.production"),
            .sandbox: settings.optionalString("push.apns.sandbox"),
        ]
        let addresses = try Dictionary(
            uniqueKeysWithValues: named.compactMap { environment, text in
                try text.map { (environment, try Self.address($0, in: "push.apns.\(environment.rawValue)")) }
            })
        let certificates = try settings.optionalString("push.apns.certificates").map {
            try String(contentsOfFile: $0, encoding: .utf8)
        }
        apns = { environment in
            guard let (host, port) = addresses[environment] else { return APNsConfiguration(environment) }
            return APNsConfiguration(host: host, port: port, trustedCertificates: certificates)
        }
        fcmAddress = settings.string("push.fcm.url", default: FCMClient.address)
        if try settings.flag("push.private.allowed", default: false) {
            outgoing = OutgoingClient(.anywhere, version: .upToHTTP2)
        }
    }

    private static func address(_ text: String, in key: String) throws -> (host: String, port: Int) {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let port = Int(text[text.index(after: colon)...]), (1...65_535).contains(port)
        else { throw SettingsError(key: key, problem: "must be host:port") }
        return (String(text[..<colon]), port)
    }
}

/// The clients for push services, shared by all senders: one provider token per key, one access token per account.
///
/// `apns` must run as a service.
final class PushClients: Sendable {
    /// The maximum number of cached FCM clients; the least recently used one is evicted.
    private static let maximumAccounts = 1_000
    /// The maximum number of cached web push clients, one per app and host.
    private static let maximumHosts = 1_000
    /// The number of concurrent requests per app and web push host.
    private static let concurrencyOfHost = 50

    private struct Account {
        var version: Date
        var client: FCMClient
    }

    private struct Host: Hashable {
        var space: Int32
        var name: String
    }

    private struct State {
        var accounts = LRUCache<Int32, Account>(maximumCount: maximumAccounts)
        var hosts = LRUCache<Host, WebPushClient>(maximumCount: maximumHosts)
    }

    let apns: APNsClients
    private let hosts: PushHosts
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    init(hosts: PushHosts, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.hosts = hosts
        self.now = now
        apns = APNsClients(logger: logger, now: now, configuration: hosts.apns)
    }

    /// The FCM client of the space, replaced when its credential changes. Nil if there is no credential.
    func fcm(_ credentials: PushCredentials.Current, of space: Int32) -> FCMClient? {
        guard let account = credentials.fcm, let version = credentials.versions[.fcm] else { return nil }
        return state.withLock { state in
            let known = state.accounts[space].flatMap { $0.version == version ? $0.client : nil }
            let client = known ?? FCMClient(account, client: hosts.outgoing, address: hosts.fcmAddress, now: now)
            state.accounts[space] = Account(version: version, client: client)
            return client
        }
    }

    /// The client for one web push host. Each app and host has its own queue, so a slow host delays no other.
    func webPush(_ host: String, of space: Int32) -> WebPushClient {
        let host = Host(space: space, name: host)
        return state.withLock { state in
            let client =
                state.hosts[host]
                ?? WebPushClient(client: hosts.outgoing, concurrency: Self.concurrencyOfHost, now: now)
            state.hosts[host] = client
            return client
        }
    }
}

/// A bounded cache that evicts the least recently stored value. Reading is not a use: store a value again to keep it.
private struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let maximumCount: Int
    private var entries: [Key: (value: Value, lastUse: Int)] = [:]
    private var uses = 0

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    subscript(key: Key) -> Value? {
        get { entries[key]?.value }
        set {
            uses += 1
            entries[key] = newValue.map { ($0, uses) }
            guard entries.count > maximumCount,
                let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
            else { return }
            entries[oldest] = nil
        }
    }
}
