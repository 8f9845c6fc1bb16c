import Foundation
import Logging
import MartletAPI
import MartletPostgres
public import ServiceLifecycle
import Synchronization

/// The newest key ring in memory, and those who wait for a newer one.
///
/// Woken by NOTIFY, and looks by itself every `interval`, in case a notification was lost with a connection.
public final class KeyRingFeed: Service {
    private static let interval: Duration = .seconds(2)

    private struct State {
        var ring: KeyRing?
        var nextWaiter = 0
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let store: KeyRingStore
    private let postgres: PostgresClient
    private let logger: Logger
    private let state = Mutex(State())

    init(store: KeyRingStore, postgres: PostgresClient, logger: Logger) {
        self.store = store
        self.postgres = postgres
        self.logger = logger
    }

    var current: KeyRing? { state.withLock { $0.ring } }

    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.followNotifications() }
                group.addTask { await self.lookFromTimeToTime() }
            }
        }
    }

    /// A ring of another version than `version`, or nil when none came in time or before shutdown, which would wait for it.
    ///
    /// Another, not only a higher one: after a restore from a backup the versions start again from an older one.
    func ring(after version: Int64, wait: Duration) async -> KeyRing? {
        if let ring = current, ring.version != version { return ring }
        let (changes, number) = enter()
        defer { leave(number) }
        return await cancelWhenGracefulShutdown {
            await withTaskGroup(of: KeyRing?.self) { group in
                group.addTask {
                    for await _ in changes {
                        if let ring = self.current, ring.version != version { return ring }
                    }
                    return nil
                }
                group.addTask {
                    try? await Task.sleep(for: wait)
                    return nil
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        }
    }

    private func enter() -> (AsyncStream<Void>, Int) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextWaiter += 1
            state.waiters[state.nextWaiter] = continuation
            return state.nextWaiter
        }
        // What changed between the first look and entering.
        continuation.yield()
        return (stream, number)
    }

    private func leave(_ number: Int) {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.finish()
    }

    private func followNotifications() async {
        for await _ in postgres.listen("martlet_key_ring") { await refresh() }
    }

    private func lookFromTimeToTime() async {
        while !Task.isCancelled {
            await refresh()
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func refresh() async {
        do {
            let version = try await store.version()
            guard current?.version != version || hasExpired else { return }
            let ring = try await store.read()
            // Of two reads at once the older may come last; the next look, within `interval`, puts that right.
            let waiters = state.withLock { state in
                state.ring = ring
                return Array(state.waiters.values)
            }
            for waiter in waiters { waiter.yield() }
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
