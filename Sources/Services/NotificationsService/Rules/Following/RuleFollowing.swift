import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Follows the change logs of all spaces that have rules on changes; every copy of the service some of them.
final class RuleFollowing: Service {
    static let maximumSpaces = 2_000
    private static let interval: Duration = .seconds(1)

    private let feeds: RuleFeeds
    private let postgres: PostgresClient
    private let makeFollower: @Sendable (Space) -> RuleFollower
    private let news: RuleNews
    private let logger: Logger
    private let followed = Mutex<Set<Space>>([])

    init(feeds: RuleFeeds, postgres: PostgresClient, news: RuleNews, logger: Logger, makeFollower: @escaping @Sendable (Space) -> RuleFollower) {
        self.feeds = feeds
        self.postgres = postgres
        self.news = news
        self.logger = logger
        self.makeFollower = makeFollower
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await notification in self.postgres.listen(RuleStore.channel) {
                        self.news.note(notification.mayHaveMissed ? nil : Int32(notification.payload))
                    }
                }
                var known = 0
                while !Task.isCancelled {
                    do {
                        let room = Self.maximumSpaces - self.followed.withLock(\.count)
                        for space in room > 0 ? try await self.feeds.claim(atMost: min(room, 50)) : [] { self.follow(space, in: &group) }
                    } catch {
                        self.logger.warning("rules were not looked for", metadata: ["error.cause": "\(error)"])
                    }
                    // New rules are looked for at once.
                    known = await self.news.wait(Self.interval, known: known)
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

/// Tells followers that rules have changed.
final class RuleNews: Sendable {
    private let waiters = Waiters()
    private let state = Mutex(State())

    private struct State {
        var all = 0
        var number = 0
        var spaces: [Int32: Int] = [:]
    }

    /// - Parameter space: nil: any.
    func note(_ space: Int32?) {
        state.withLock { state in
            state.number += 1
            if let space { state.spaces[space] = state.number } else { state.all = state.number }
        }
        waiters.wake()
    }

    /// The number of the last news of a space.
    func number(of space: Int32) -> Int { state.withLock { max($0.all, $0.spaces[space] ?? 0) } }

    /// Returns when there is news of any space, or the time is up; with the number of the last.
    func wait(_ limit: Duration, known: Int) async -> Int {
        await waiters.wait(limit) { [self] in state.withLock { $0.number > known ? $0.number : nil } } ?? known
    }

    /// Returns when there is news of the space, or the time is up.
    func wait(_ limit: Duration, of space: Int32, known: Int) async {
        _ = await waiters.wait(limit) { [self] in number(of: space) > known ? true : nil }
    }
}
