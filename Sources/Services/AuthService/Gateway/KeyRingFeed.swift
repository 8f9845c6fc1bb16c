import Foundation
import Logging
import MartletAPI
import MartletBackground
import MartletHTTP
import MartletPostgres
public import ServiceLifecycle
import Synchronization

/// The newest key ring in memory, for callers that wait for a newer one.
///
/// Woken by NOTIFY, and polls every `interval` in case a notification was lost with a connection.
public final class KeyRingFeed: Service {
    private static let interval: Duration = .seconds(2)

    private struct Newest {
        var ring: KeyRing
        var idTokenKeys: [RSATokenVerifier]
        /// Whether `idTokenKeys` were read after the ring.
        var hasCurrentIDTokenKeys = false
    }

    private let store: KeyRingStore
    private let postgres: PostgresClient
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let newest = Mutex<Newest?>(nil)
    private let waiters = Waiters()

    init(store: KeyRingStore, postgres: PostgresClient, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.postgres = postgres
        self.logger = logger
        self.now = now
    }

    var current: KeyRing? { newest.withLock { $0?.ring } }

    /// The RS256 keys of ID tokens. Not part of the ring, because gateways do not need them.
    var idTokenKeys: [RSATokenVerifier] { newest.withLock { $0?.idTokenKeys } ?? [] }

    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, retries: .milliseconds(100)...Self.interval)
                .run(on: self.postgres.listen("martlet_key_ring")) {
                    await attempt(
                        "Could not read the key ring; keeping the previous one.", level: .debug, logger: self.logger
                    ) {
                        try await self.refresh()
                    }
                }
        }
    }

    /// A ring with another version than `version`; nil if there is none within `wait` or the service is shutting down.
    ///
    /// Any other version counts, not only a higher one: after a restore from a backup, versions start again from an
    /// older one.
    func ring(after version: Int64, wait: Duration) async -> KeyRing? {
        await waiters.wait(wait) { self.current.flatMap { $0.version == version ? nil : $0 } }
    }

    /// Reads must not overlap: if the older of two finished last, a revoked key would be accepted until the next read.
    private func refresh() async throws {
        let version = try await store.version()
        let isRead = newest.withLock { $0.map { $0.ring.version == version && $0.hasCurrentIDTokenKeys } ?? false }
        guard !isRead || hasExpired else { return }
        let ring = try await store.read()
        // The ring is published before the keys of ID tokens are read, so that revocations take effect even if those
        // keys cannot be read.
        newest.withLock { $0 = Newest(ring: ring, idTokenKeys: $0?.idTokenKeys ?? []) }
        waiters.wake()
        let idTokenKeys = try await store.idTokenKeys()
        newest.withLock { $0 = Newest(ring: ring, idTokenKeys: idTokenKeys, hasCurrentIDTokenKeys: true) }
    }

    /// Whether a credential in memory has expired. Gateways check this themselves; here it only keeps the copy small.
    private var hasExpired: Bool {
        let now = now()
        return current?.apps.contains { $0.credentials.contains { $0.expires.map { $0 <= now } ?? false } } ?? false
    }
}
