import CoreMetrics
import Foundation
import Logging
import MartletBackground
import MartletCore
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The live documents of the spaces in use, in memory.
///
/// A space is loaded on first use. It is read again on a notification, or when a poll finds a new generation; until
/// then callers get the previous state. So reading a loaded space costs no query and works while the database is
/// unavailable. Beyond the limits, the least recently used space is evicted.
final class LiveDocuments: Service {
    static let channel = "martlet_config"
    private static let interval: Duration = .seconds(1)
    /// How many generations a copy can be behind at most: it checks for new ones every second.
    private static let maximumLead: Int64 = 1_000

    struct Limits: Sendable {
        var spaces = 10_000
        var sizeInBytes = 512 << 20
        /// How long to wait for a generation that is not there yet.
        var wait: Duration = .seconds(2)
    }

    private struct Entry {
        var current: LiveSpace
        /// The number of the read that produced `current`.
        var read: Int
        var lastUsed: ContinuousClock.Instant
        var followers: [Int: AsyncStream<LiveSpace>.Continuation] = [:]
        /// Nil if no read is in progress; true if another read must follow the current one.
        var isStale: Bool?
    }

    private struct State {
        var entries: [AppSpace: Entry] = [:]
        var first: [AppSpace: Task<LiveSpace, any Error>] = [:]
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

    /// The live documents of a space.
    ///
    /// - Throws: Database errors if the space has not been loaded yet.
    func current(_ space: AppSpace) async throws -> LiveSpace {
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

    /// The live documents of a space. If this instance has not reached `generation`, which an event named, it waits for
    /// it up to `Limits.wait`, and then returns what it has. It does not wait for a generation that is too far ahead to
    /// exist.
    ///
    /// - Throws: The errors of `current`.
    func current(_ space: AppSpace, reaching generation: Int64) async throws -> LiveSpace {
        let deadline = ContinuousClock.now + limits.wait
        while true {
            let found = try await current(space)
            let isBehind =
                found.generation < generation && generation &- found.generation <= Self.maximumLead
            guard isBehind, .now < deadline else { return found }
            try await RequestUsage.waiting { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    /// The current state and a stream of the states after it. A slow reader gets only the newest one.
    ///
    /// - Throws: The errors of `current`.
    func changes(_ space: AppSpace) async throws -> (now: LiveSpace, AsyncStream<LiveSpace>) {
        while true {
            let now = try await current(space)
            let (stream, continuation) = AsyncStream.makeStream(
                of: LiveSpace.self, bufferingPolicy: .bufferingNewest(1))
            // Retries if the space was evicted or changed in the meantime.
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
            let (gaps, gap) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            await withDiscardingTaskGroup { group in
                group.addTask { await self.followNotifications(gap) }
                await NotifiedLoop(every: Self.interval, startsAtOnce: false).run(on: gaps) {
                    await attempt(
                        "Could not check for published versions; retrying.", level: .debug, logger: self.logger
                    ) {
                        try await self.checkGenerations()
                    }
                }
            }
        }
        for entry in state.withLock({ Array($0.entries.values) }) {
            for follower in entry.followers.values { follower.finish() }
        }
    }

    /// Reads a loaded space again. On return, everything published before the call is visible, unless the database is
    /// unavailable.
    func catchUp(_ space: AppSpace) async {
        guard let known = known(space) else { return }
        let number = nextRead()
        if let read = try? await store.read(space, known: known) { apply(read, number) }
    }

    /// Schedules a new read of a space after a publication, here or on another instance.
    func refresh(_ space: AppSpace) {
        let isIdle = state.withLock { state in
            guard let entry = state.entries[space] else { return false }
            state.entries[space]?.isStale = entry.isStale != nil
            return entry.isStale == nil
        }
        if isIdle { Task { await self.readAgain(space) } }
    }

    private func known(_ space: AppSpace) -> LiveSpace? {
        state.withLock { state in
            guard let known = state.entries[space]?.current else { return nil }
            state.entries[space]?.lastUsed = .now
            return known
        }
    }

    private func load(_ space: AppSpace) async throws -> LiveSpace {
        do {
            let number = nextRead()
            let read = try await store.read(space, known: nil)
            state.withLock { state in
                state.first[space] = nil
                state.entries[space] = Entry(current: read, read: number, lastUsed: .now)
                evictSpaces(&state, except: space)
            }
            return read
        } catch {
            state.withLock { $0.first[space] = nil }
            throw error
        }
    }

    private func readAgain(_ space: AppSpace) async {
        repeat {
            do {
                let number = nextRead()
                apply(try await store.read(space, known: known(space)), number)
            } catch {
                logger.debug(
                    "Could not read live documents; keeping the previous ones.", metadata: ["error.cause": "\(error)"])
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

    /// Ignores the result if a read that began later has already finished. If the ignored read saw newer data, the
    /// generation differs and the next poll finds it.
    private func apply(_ read: LiveSpace, _ number: Int) {
        let followers: [AsyncStream<LiveSpace>.Continuation] = state.withLock { state in
            guard let entry = state.entries[read.space], entry.read < number else { return [] }
            let isNew = entry.current.generation != read.generation || !entry.current.isSame(as: read)
            state.entries[read.space]?.read = number
            guard isNew else { return [] }
            state.entries[read.space]?.current = read
            evictSpaces(&state, except: read.space)
            return Array(entry.followers.values)
        }
        for follower in followers { follower.yield(read) }
    }

    /// Evicts the least recently used spaces that have no followers.
    private func evictSpaces(_ state: inout State, except space: AppSpace) {
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

    /// - Parameter gap: Signals that notifications may have been missed, so that all spaces are checked.
    private func followNotifications(_ gap: AsyncStream<Void>.Continuation) async {
        for await notification in postgres.listen(Self.channel) {
            if let space = AppSpace(notification.payload), !notification.mayHaveMissed {
                refresh(space)
            } else {
                gap.yield()
            }
        }
    }

    private func checkGenerations() async throws {
        let (known, followers) = state.withLock { state in
            (state.entries.mapValues(\.current.generation), state.entries.values.reduce(0) { $0 + $1.followers.count })
        }
        spacesGauge.record(known.count)
        followersGauge.record(followers)
        guard !known.isEmpty else { return }
        let generations = try await store.generations(of: Array(known.keys))
        // A smaller generation counts too: after a restore, generations continue from an older number.
        for (space, generation) in known where generations[space, default: 0] != generation { refresh(space) }
    }
}

extension LiveSpace {
    /// Whether both contain the same versions of the same documents.
    fileprivate func isSame(as other: LiveSpace) -> Bool {
        documents.map { PinnedVersion(key: $0.key, version: $0.version) }
            == other.documents.map { PinnedVersion(key: $0.key, version: $0.version) }
    }
}
