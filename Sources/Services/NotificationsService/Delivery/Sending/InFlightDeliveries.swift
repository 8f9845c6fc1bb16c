import Foundation
import Synchronization

/// The deliveries that this instance has claimed and whose results are not yet written, with the results so far.
///
/// Its maximum size bounds the memory of the sender, because no more deliveries are claimed than it may hold.
final class InFlightDeliveries: Sendable {
    struct Key: Hashable, Sendable {
        var pushID: UUID
        var claim: Int
    }

    struct Entry: Sendable {
        var message: UUID
        var lane: DeliveryLane
        var installation: UUID
        var attempt: Int
        var claim: Int
        /// Whether the message is sent at most once.
        var isOnce: Bool
        /// When the lease was last known to be renewed.
        var leased: ContinuousClock.Instant
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var counts: [UUID: Int] = [:]
        var countsOfSpaces: [Int32: Int] = [:]
        var countsOfLanes: [DeliveryLane: Int] = [:]
        var onceCount = 0
        var window = AtMostOnceWindow()
        var results: [(key: Key, result: DeliveryResult)] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.entries.count } }
    var messages: [UUID] { state.withLock { Array($0.counts.keys) } }

    func count(of space: Int32) -> Int { state.withLock { $0.countsOfSpaces[space, default: 0] } }

    func count(of lane: DeliveryLane) -> Int { state.withLock { $0.countsOfLanes[lane, default: 0] } }

    /// How many more at-most-once deliveries may be claimed.
    var onceRoom: Int { state.withLock { max(0, $0.window.size - $0.onceCount) } }

    /// - Parameter once: The at-most-once messages.
    func add(_ claims: [ClaimedDelivery], once: Set<UUID>, at time: ContinuousClock.Instant) {
        state.withLock { state in
            for claim in claims {
                let entry = Entry(
                    message: claim.message, lane: claim.lane, installation: claim.installation, attempt: claim.attempt,
                    claim: claim.claim,
                    isOnce: once.contains(claim.message), leased: time)
                state.entries[claim.key] = entry
                state.counts[claim.message, default: 0] += 1
                state.countsOfSpaces[claim.space, default: 0] += 1
                state.countsOfLanes[claim.lane, default: 0] += 1
                if entry.isOnce { state.onceCount += 1 }
            }
        }
    }

    /// - Returns: The number of results that wait to be written.
    func finish(_ claim: ClaimedDelivery, _ verdict: Verdict) -> Int {
        state.withLock { state in
            state.results.append((claim.key, DeliveryResult(claim, verdict)))
            if state.onceCount > 0, state.entries[claim.key]?.isOnce == true { state.window.record(verdict) }
            return state.results.count
        }
    }

    /// Takes results for writing. The deliveries stay in flight until `forget`.
    func takeResults(upTo limit: Int) -> [(key: Key, result: DeliveryResult)] {
        state.withLock { state in
            let taken = Array(state.results.prefix(limit))
            state.results.removeFirst(taken.count)
            return taken
        }
    }

    /// All results not yet taken; nil if there are more than `count`.
    func results(atMost count: Int) -> [DeliveryResult]? {
        state.withLock { $0.results.count <= count ? $0.results.map(\.result) : nil }
    }

    /// Removes deliveries whose results have been written.
    func forget(_ written: [(key: Key, result: DeliveryResult)]) {
        state.withLock { state in
            for (key, _) in written { Self.remove(key, &state) }
        }
    }

    /// The deliveries whose lease was last renewed before the given time.
    func leased(before time: ContinuousClock.Instant) -> [Entry] {
        state.withLock { $0.entries.values.filter { $0.leased < time } }
    }

    func renewed(_ keys: [Key], at time: ContinuousClock.Instant) {
        state.withLock { state in for key in keys { state.entries[key]?.leased = time } }
    }

    /// Whether this instance certainly still owns the delivery. After a long pause of the process, another one may have
    /// claimed it.
    func isLeased(_ claim: ClaimedDelivery, for lease: Duration) -> Bool {
        let now = ContinuousClock.now
        return state.withLock { $0.entries[claim.key].map { now < $0.leased + lease } ?? false }
    }

    /// Removes a delivery that this instance no longer owns.
    func drop(_ claim: ClaimedDelivery) {
        state.withLock { Self.remove(claim.key, &$0) }
    }

    private static func remove(_ key: Key, _ state: inout State) {
        guard let entry = state.entries.removeValue(forKey: key) else { return }
        state.counts.countDown(entry.message)
        state.countsOfSpaces.countDown(entry.lane.space)
        state.countsOfLanes.countDown(entry.lane)
        if entry.isOnce { state.onceCount -= 1 }
    }
}

extension Dictionary where Value == Int {
    /// Decrements a count and removes it at zero.
    fileprivate mutating func countDown(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}

extension ClaimedDelivery {
    var key: InFlightDeliveries.Key { InFlightDeliveries.Key(pushID: pushID, claim: claim) }
}
