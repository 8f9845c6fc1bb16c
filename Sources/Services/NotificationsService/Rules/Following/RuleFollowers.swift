import CoreMetrics
import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Follows the change logs of all spaces with rules on changes. The spaces are divided among the instances of the
/// service.
final class RuleFollowers: Service {
    static let maximumSpaces = 2_000
    /// The heartbeat interval, a third of the lease. Changes of rules are notified separately.
    private static let interval: Duration = .seconds(5)
    /// The maximum number of spaces claimed at once, so that other instances get their share.
    private static let maximumClaim = 50

    private let feeds: RuleFeeds
    private let postgres: PostgresClient
    private let makeFollower: @Sendable (Space) -> RuleFollower
    private let changeSignal: RuleChangeSignal
    private let logger: Logger
    private let followed = Mutex<Set<Space>>([])

    init(
        feeds: RuleFeeds, postgres: PostgresClient, changeSignal: RuleChangeSignal, logger: Logger,
        makeFollower: @escaping @Sendable (Space) -> RuleFollower
    ) {
        self.feeds = feeds
        self.postgres = postgres
        self.changeSignal = changeSignal
        self.logger = logger
        self.makeFollower = makeFollower
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await notification in self.postgres.listen(RuleStore.channel) {
                        self.changeSignal.record(notification.mayHaveMissed ? nil : Int32(notification.payload))
                    }
                }
                var known = 0
                var tracker = FailureTracker()
                while !Task.isCancelled {
                    var pause = Self.interval * Double.random(in: 0.8...1)
                    do {
                        try await self.feeds.renewHeartbeat()
                        let followed = self.followed.withLock { $0.map { Int($0.id) } }
                        let room = min(Self.maximumSpaces - followed.count, Self.maximumClaim)
                        let claimed = room > 0 ? try await self.feeds.claim(atMost: room, besides: followed) : []
                        for space in claimed { self.follow(space, in: &group) }
                        if claimed.count == Self.maximumClaim { pause = .seconds(1) }
                        tracker.reset()
                    } catch {
                        if !Task.isCancelled, tracker.recordFailure() {
                            self.logger.warning(
                                "Could not load notification rules; retrying.", metadata: ["error.cause": "\(error)"])
                        }
                    }
                    // Wake up at once when rules change.
                    known = await self.changeSignal.wait(pause, known: known)
                }
                group.cancelAll()
            }
        }
    }

    private func follow(_ space: Space, in group: inout DiscardingTaskGroup) {
        guard followed.withLock({ $0.insert(space).inserted }) else { return }
        group.addTask {
            await self.makeFollower(space).follow()
            _ = self.followed.withLock { $0.remove(space) }
        }
    }
}

/// The spaces that this instance follows but cannot process, as a gauge for `/metrics`.
final class StuckRules: Sendable {
    private let gauge = Gauge(label: "martlet.notifications.rules.stuck")
    private let spaces = Mutex<Set<Int32>>([])

    init() { gauge.record(0) }

    func set(_ space: Space, _ isStuck: Bool) {
        gauge.record(
            spaces.withLock { spaces in
                if isStuck { spaces.insert(space.id) } else { spaces.remove(space.id) }
                return spaces.count
            })
    }
}

/// Notifies followers of changed rules.
final class RuleChangeSignal: Sendable {
    private let waiters = Waiters()
    private let state = Mutex(State())

    private struct State {
        var all = 0
        var number = 0
        var spaces: [Int32: Int] = [:]
    }

    /// - Parameter space: Nil means any space.
    func record(_ space: Int32?) {
        state.withLock { state in
            state.number += 1
            if let space { state.spaces[space] = state.number } else { state.all = state.number }
        }
        waiters.wake()
    }

    /// The number of the latest change of a space.
    func number(of space: Int32) -> Int { state.withLock { max($0.all, $0.spaces[space] ?? 0) } }

    /// Waits for a change in any space, or until the time is up. Returns the number of the latest change.
    func wait(_ limit: Duration, known: Int) async -> Int {
        await waiters.wait(limit) { [self] in state.withLock { $0.number > known ? $0.number : nil } } ?? known
    }

    /// Waits for a change in the space, or until the time is up.
    func wait(_ limit: Duration, of space: Int32, known: Int) async {
        _ = await waiters.wait(limit) { [self] in number(of: space) > known ? true : nil }
    }
}
