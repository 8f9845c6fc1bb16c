import Foundation
import Logging
import MartletAPI
import MartletBackground
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Keeps the recently ended sessions in memory, and lets callers wait for further ones.
///
/// Woken by NOTIFY, and polls every `interval` in case a notification was lost with a connection.
final class RevocationFeed: Service {
    private static let interval: Duration = .seconds(1)
    /// Gateways have the same limit. Beyond it, the oldest entries are dropped; instead, all tokens that expire by
    /// `cutOff` are refused.
    static let maximumCount = 1_000_000

    private struct State {
        var last: Int64 = 0
        /// Ordered by number.
        var entries: [RevocationStore.Entry] = []
        /// The latest `until` of all dropped entries; nil if none was dropped.
        var cutOff: Int64?
        var isRead = false
    }

    private let store: RevocationStore
    private let postgres: PostgresClient
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let state = Mutex(State())
    private let waiters = Waiters()

    init(postgres: PostgresClient, logger: Logger, now: @escaping @Sendable () -> Date) {
        store = RevocationStore(postgres: postgres)
        self.postgres = postgres
        self.logger = logger
        self.now = now
    }

    var isReady: Bool { state.withLock { $0.isRead } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, retries: .milliseconds(100)...Self.interval)
                .run(on: self.postgres.listen("martlet_revocations")) {
                    await attempt("Could not read revocations; retrying.", level: .debug, logger: self.logger) {
                        try await self.refresh()
                    }
                }
        }
    }

    /// The sessions that ended after `number`, or all of them if the number is unknown; nil if none ended
    /// within `wait`.
    func revocations(after number: Int64, wait: Duration) async -> Revocations? {
        await waiters.wait(wait) {
            self.state.withLock { state in
                guard state.isRead, state.last != number else { return nil }
                let isKnown = number < state.last
                let fresh = state.entries.reversed().prefix { !isKnown || $0.number > number }
                return Revocations(
                    last: state.last,
                    sessions: Dictionary(fresh.map { ($0.session.uuidString.lowercased(), $0.until) }) { max($0, $1) },
                    cutOff: state.cutOff)
            }
        }
    }

    private func refresh() async throws {
        let (previous, isRead) = state.withLock { ($0.last, $0.isRead) }
        let last = try await store.last()
        guard last != previous || !isRead else { return }
        // The database was restored to an older state, or the rows with the highest numbers were deleted.
        let isReset = last < previous
        let fresh = try await store.read(after: isReset ? 0 : previous)
        let now = Int64(now().timeIntervalSince1970)
        state.withLock { state in
            if isReset { state.entries = [] }
            state.entries.removeAll { $0.until < now }
            let newest = state.entries.last?.number ?? 0
            state.entries += fresh.filter { $0.number > newest }
            let tooMany = state.entries.prefix(max(0, state.entries.count - Self.maximumCount))
            if let oldest = tooMany.map(\.until).max() { state.cutOff = max(state.cutOff ?? 0, oldest) }
            state.entries.removeFirst(tooMany.count)
            state.last = isReset ? last : max(state.last, last, fresh.last?.number ?? 0)
            state.isRead = true
        }
        waiters.wake()
    }
}

struct RevocationStore: Sendable {
    let postgres: PostgresClient

    struct Entry: Sendable {
        var number: Int64
        var session: UUID
        /// Seconds since 1970.
        var until: Int64
    }

    func last() async throws -> Int64 {
        try await postgres.query("SELECT coalesce(max(number), 0) FROM auth.revocations")[0].decode(0)
    }

    func read(after number: Int64) async throws -> [Entry] {
        try await postgres.query(
            """
            SELECT number, session_id, ceil(extract(epoch FROM until))::bigint FROM auth.revocations
            WHERE number > \(number) AND until > now() ORDER BY number
            """
        ).map { Entry(number: try $0.decode(0), session: try $0.decode(1), until: try $0.decode(2)) }
    }
}
