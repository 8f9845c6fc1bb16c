import Logging
import MartletAPI
import MartletBackground
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The newest configuration and translation of every space, in memory, for services that wait for newer ones.
///
/// Woken by NOTIFY, and polls every `interval` in case a notification was lost with a connection.
final class LiveVersionsFeed: Service {
    private static let interval: Duration = .seconds(2)
    /// The number of spaces read in one statement.
    private static let portion = 500

    private struct State {
        /// The sum of all generations, so that every publication changes it; nil before the first read.
        var number: Int64?
        /// The start of the last successful poll.
        var lastPoll: ContinuousClock.Instant?
        var generations: [AppSpace: Int64] = [:]
        var spaces: [AppSpace: LiveVersions.Space] = [:]
    }

    private let store: LiveVersionStore
    private let postgres: PostgresClient
    private let logger: Logger
    private let state = Mutex(State())
    private let waiters = Waiters()

    init(postgres: PostgresClient, logger: Logger) {
        store = LiveVersionStore(postgres: postgres)
        self.postgres = postgres
        self.logger = logger
    }

    var isRead: Bool { state.withLock { $0.number != nil } }

    /// Whether the last successful poll began less than six seconds ago.
    var isCurrent: Bool { state.withLock { $0.lastPoll.map { .now - $0 < .seconds(6) } ?? false } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, retries: .milliseconds(100)...Self.interval)
                .run(on: self.postgres.listen(LiveDocuments.channel)) {
                    await attempt(
                        "Could not read live versions; keeping the previous ones.", level: .debug, logger: self.logger
                    ) {
                        try await self.refresh()
                    }
                }
        }
    }

    /// All versions as soon as their number differs from `number`; nil if it does not within `wait`.
    func versions(after number: Int64, wait: Duration) async -> LiveVersions? {
        await waiters.wait(wait) {
            self.state.withLock { state in
                guard let current = state.number, current != number else { return nil }
                return LiveVersions(number: current, spaces: Array(state.spaces.values))
            }
        }
    }

    /// Must not overlap: an older state could replace a newer one.
    private func refresh() async throws {
        let began = ContinuousClock.now
        let generations = try await store.generations()
        let known = state.withLock { $0.generations }
        let changed = generations.filter { known[$0.key] != $0.value }.map(\.key)
        guard !changed.isEmpty || known.count != generations.count || !isRead else {
            state.withLock { $0.lastPoll = began }
            return
        }
        var fresh: [AppSpace: LiveVersions.Space] = [:]
        for start in stride(from: 0, to: changed.count, by: Self.portion) {
            fresh.merge(try await store.versions(of: changed[start..<min(start + Self.portion, changed.count)])) {
                $1
            }
        }
        state.withLock { state in
            for space in changed {
                var versions =
                    fresh[space] ?? LiveVersions.Space(appID: space.appID, environment: space.environment)
                versions.generation = generations[space, default: 0]
                state.spaces[space] = versions
            }
            state.spaces = state.spaces.filter { generations[$0.key] != nil }
            state.generations = generations
            state.lastPoll = began
            state.number = generations.values.reduce(0, &+)
        }
        waiters.wake()
    }
}
