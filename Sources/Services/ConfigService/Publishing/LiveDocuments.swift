import CoreMetrics
import Foundation
import Logging
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// What is live in the spaces that were asked for, in memory.
///
/// A space is read when it is first asked for. Then notifications say when to read it again, and so does a look every
/// `interval`, should one get lost; who asks meanwhile gets what there was before. So a read costs no query once its
/// space is known, and goes on while the database is away. Beyond the limits the space that was not asked for the
/// longest is forgotten.
final class LiveDocuments: Service {
    static let channel = "martlet_config"
    private static let interval: Duration = .seconds(1)

    struct Limits: Sendable {
        var spaces = 10_000
        var sizeInBytes = 512 << 20
    }

    private struct Entry {
        var current: LiveSpace
        /// Which read it came from.
        var read: Int
        var lastUsed: ContinuousClock.Instant
        var followers: [Int: AsyncStream<LiveSpace>.Continuation] = [:]
        /// Is being read; true: once more afterwards.
        var isStale: Bool?
    }

    private struct State {
        var entries: [ConfigSpace: Entry] = [:]
        var first: [ConfigSpace: Task<LiveSpace, any Error>] = [:]
        var lastFollower = 0
        var lastRead = 0
    }

    private enum Found {
        case known(LiveSpace)
        case loading(Task<LiveSpace, any Error>)
    }

    private let store: LiveDocumentStore
    private let postgres: PostgresClient
    private let limits: Limits
    private let logger: Logger
    private let state = Mutex(State())
    private let spacesGauge = Gauge(label: "martlet.config.spaces")
    private let followersGauge = Gauge(label: "martlet.config.followers")

    init(store: LiveDocumentStore, postgres: PostgresClient, limits: Limits = Limits(), logger: Logger) {
        self.store = store
        self.postgres = postgres
        self.limits = limits
        self.logger = logger
    }

    /// What is live in a space.
    ///
    /// - Throws: as the database, when the space has not been read yet.
    func current(_ space: ConfigSpace) async throws -> LiveSpace {
        let found: Found = state.withLock { state in
            if let known = state.entries[space]?.current {
                state.entries[space]?.lastUsed = .now
                return .known(known)
            }
            if let task = state.first[space] { return .loading(task) }
            let task = Task { try await self.load(space) }
            state.first[space] = task
            return .loading(task)
        }
        switch found {
        case .known(let known): return known
        case .loading(let task): return try await task.value
        }
    }

    /// What is live whenever that changes, from the next change on; only the newest, for who does not keep up.
    ///
    /// - Throws: as `current`.
    func changes(_ space: ConfigSpace) async throws -> (now: LiveSpace, AsyncStream<LiveSpace>) {
        while true {
            let now = try await current(space)
            let (stream, continuation) = AsyncStream.makeStream(
                of: LiveSpace.self, bufferingPolicy: .bufferingNewest(1))
            // Forgotten or changed since: once more.
            let number: Int? = state.withLock { state in
                guard state.entries[space]?.current === now else { return nil }
                state.lastFollower += 1
                state.entries[space]?.followers[state.lastFollower] = continuation
                return state.lastFollower
            }
            guard let number else { continue }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.entries[space]?.followers.removeValue(forKey: number) }
            }
            return (now, stream)
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.followNotifications() }
                group.addTask { await self.lookFromTimeToTime() }
            }
        }
        for entry in state.withLock({ Array($0.entries.values) }) {
            for follower in entry.followers.values { follower.finish() }
        }
    }

    /// Reads a space again and returns when what was published before the call is there, or the database is not.
    func catchUp(_ space: ConfigSpace) async {
        guard let known = known(space) else { return }
        let number = nextRead()
        if let read = try? await store.read(space, known: known) { take(read, number) }
    }

    /// Something was published in the space, here or elsewhere.
    func refresh(_ space: ConfigSpace) {
        let isIdle = state.withLock { state in
            guard let entry = state.entries[space] else { return false }
            state.entries[space]?.isStale = entry.isStale != nil
            return entry.isStale == nil
        }
        if isIdle { Task { await self.readAgain(space) } }
    }

    private func known(_ space: ConfigSpace) -> LiveSpace? {
        state.withLock { state in
            guard let known = state.entries[space]?.current else { return nil }
            state.entries[space]?.lastUsed = .now
            return known
        }
    }

    private func load(_ space: ConfigSpace) async throws -> LiveSpace {
        do {
            let number = nextRead()
            let read = try await store.read(space, known: nil)
            state.withLock { state in
                state.first[space] = nil
                state.entries[space] = Entry(current: read, read: number, lastUsed: .now)
                forgetSome(&state, but: space)
            }
            return read
        } catch {
            state.withLock { $0.first[space] = nil }
            throw error
        }
    }

    private func readAgain(_ space: ConfigSpace) async {
        repeat {
            do {
                let number = nextRead()
                take(try await store.read(space, known: known(space)), number)
            } catch {
                logger.debug("live documents not read", metadata: ["error.cause": "\(error)"])
            }
        } while state.withLock({ state in
            let isDue = state.entries[space]?.isStale == true
            state.entries[space]?.isStale = isDue ? false : nil
            return isDue
        })
    }

    private func nextRead() -> Int {
        state.withLock { state in
            state.lastRead += 1
            return state.lastRead
        }
    }

    /// Of two reads at once the one that began first may be there last: it is left out. Had it seen more, that is
    /// another generation, which the next look finds.
    private func take(_ read: LiveSpace, _ number: Int) {
        let followers: [AsyncStream<LiveSpace>.Continuation] = state.withLock { state in
            guard let entry = state.entries[read.space], entry.read < number else { return [] }
            let isNew = entry.current.generation != read.generation || !entry.current.isSame(as: read)
            state.entries[read.space]?.read = number
            guard isNew else { return [] }
            state.entries[read.space]?.current = read
            forgetSome(&state, but: read.space)
            return Array(entry.followers.values)
        }
        for follower in followers { follower.yield(read) }
    }

    /// The least recently used that nobody follows.
    private func forgetSome(_ state: inout State, but space: ConfigSpace) {
        var size = state.entries.values.reduce(0) { $0 + $1.current.sizeInBytes }
        guard state.entries.count > limits.spaces || size > limits.sizeInBytes else { return }
        let candidates = state.entries.filter { $0.key != space && $0.value.followers.isEmpty }.sorted {
            $0.value.lastUsed < $1.value.lastUsed
        }
        for (space, entry) in candidates where state.entries.count > limits.spaces || size > limits.sizeInBytes {
            state.entries[space] = nil
            size -= entry.current.sizeInBytes
        }
    }

    private func followNotifications() async {
        for await notification in postgres.listen(Self.channel) {
            if let space = ConfigSpace(notification.payload), !notification.mayHaveMissed {
                refresh(space)
            } else {
                await look()
            }
        }
    }

    private func lookFromTimeToTime() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            await look()
        }
    }

    private func look() async {
        let (known, followers) = state.withLock { state in
            (state.entries.mapValues(\.current.generation), state.entries.values.reduce(0) { $0 + $1.followers.count })
        }
        spacesGauge.record(known.count)
        followersGauge.record(followers)
        guard !known.isEmpty else { return }
        do {
            let generations = try await store.generations(of: Array(known.keys))
            // Another, not only a greater one: after a restore they begin again from an older one.
            for (space, generation) in known where generations[space, default: 0] != generation { refresh(space) }
        } catch {
            logger.debug("generations not read", metadata: ["error.cause": "\(error)"])
        }
    }
}

extension LiveSpace {
    /// Whether both have the same versions of the same documents.
    fileprivate func isSame(as other: LiveSpace) -> Bool {
        documents.map { PinnedVersion(key: $0.key, version: $0.version) }
            == other.documents.map { PinnedVersion(key: $0.key, version: $0.version) }
    }
}
