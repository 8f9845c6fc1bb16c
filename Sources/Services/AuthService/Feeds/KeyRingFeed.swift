import Foundation
import Logging
import MartletAPI
import MartletHTTP
import MartletPostgres
public import ServiceLifecycle
import Synchronization

/// The newest key ring in memory, and those who wait for a newer one.
///
/// Woken by NOTIFY, and looks by itself every `interval`, in case a notification was lost with a connection.
public final class KeyRingFeed: Service {
    private static let interval: Duration = .seconds(2)

    private struct Newest {
        var ring: KeyRing
        var idTokenKeys: [RSATokenVerifier]
        /// Whether they are of the ring's version or newer.
        var hasItsIDTokenKeys = false
    }

    private let store: KeyRingStore
    private let postgres: PostgresClient
    private let logger: Logger
    private let newest = Mutex<Newest?>(nil)
    private let waiters = Waiters()

    init(store: KeyRingStore, postgres: PostgresClient, logger: Logger) {
        self.store = store
        self.postgres = postgres
        self.logger = logger
    }

    var current: KeyRing? { newest.withLock { $0?.ring } }

    /// Of RS256. No part of the ring: gateways have nothing to do with them.
    var idTokenKeys: [RSATokenVerifier] { newest.withLock { $0?.idTokenKeys } ?? [] }

    public func run() async throws {
        // One look at a time: of two at once the older one could come last, and a key that was revoked would be back
        // until the next.
        let (looks, look) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { for await _ in self.postgres.listen("martlet_key_ring") { look.yield() } }
                group.addTask {
                    while !Task.isCancelled {
                        look.yield()
                        try? await Task.sleep(for: Self.interval)
                    }
                }
                group.addTask { for await _ in looks { await self.refresh() } }
            }
        }
    }

    /// A ring of another version than `version`, or nil when none came in time or before shutdown, which would wait for
    /// it.
    ///
    /// Another, not only a higher one: after a restore from a backup the versions start again from an older one.
    func ring(after version: Int64, wait: Duration) async -> KeyRing? {
        await waiters.wait(wait) { self.current.flatMap { $0.version == version ? nil : $0 } }
    }

    private func refresh() async {
        do {
            let version = try await store.version()
            let isRead = newest.withLock { $0.map { $0.ring.version == version && $0.hasItsIDTokenKeys } ?? false }
            guard !isRead || hasExpired else { return }
            let ring = try await store.read()
            // Published before the ID tokens' keys are read: what was revoked must end even if those cannot be read.
            newest.withLock { $0 = Newest(ring: ring, idTokenKeys: $0?.idTokenKeys ?? []) }
            waiters.wake()
            let idTokenKeys = try await store.idTokenKeys()
            newest.withLock { $0 = Newest(ring: ring, idTokenKeys: idTokenKeys, hasItsIDTokenKeys: true) }
        } catch {
            logger.debug("key ring not read", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Whether a credential in memory has run out: gateways check that themselves, this only keeps our copy small.
    private var hasExpired: Bool {
        let now = Date()
        return current?.apps.contains { $0.credentials.contains { $0.expires.map { $0 <= now } ?? false } } ?? false
    }
}
