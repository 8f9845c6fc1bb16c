import Foundation
import Synchronization

/// What this copy of the service has claimed and not yet written down, and what came of it so far.
///
/// Its size is what bounds the sender's memory: nothing is claimed beyond it.
final class DeliveriesInHand: Sendable {
    struct Key: Hashable, Sendable {
        var pushID: UUID
        var attempt: Int
    }

    struct Entry: Sendable {
        var message: UUID
        var space: Int32
        var installation: UUID
        var attempt: Int
        /// When the lease was last known to be whole.
        var leased: ContinuousClock.Instant
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var counts: [UUID: Int] = [:]
        var countsOfSpaces: [Int32: Int] = [:]
        var results: [(key: Key, result: DeliveryResult)] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.entries.count } }
    var messages: [UUID] { state.withLock { Array($0.counts.keys) } }

    func count(of space: Int32) -> Int { state.withLock { $0.countsOfSpaces[space, default: 0] } }

    func add(_ claims: [ClaimedDelivery], at time: ContinuousClock.Instant) {
        state.withLock { state in
            for claim in claims {
                let entry = Entry(message: claim.message, space: claim.space, installation: claim.installation, attempt: claim.attempt, leased: time)
                state.entries[claim.key] = entry
                state.counts[claim.message, default: 0] += 1
                state.countsOfSpaces[claim.space, default: 0] += 1
            }
        }
    }

    /// - Returns: how many results wait to be written.
    func finish(_ claim: ClaimedDelivery, _ verdict: Verdict) -> Int {
        state.withLock { state in
            state.results.append((claim.key, DeliveryResult(claim, verdict)))
            return state.results.count
        }
    }

    /// Results to write; they stay in hand until `forget`.
    func takeResults(upTo limit: Int) -> [(key: Key, result: DeliveryResult)] {
        state.withLock { state in
            let taken = Array(state.results.prefix(limit))
            state.results.removeFirst(taken.count)
            return taken
        }
    }

    /// What is written down.
    func forget(_ written: [(key: Key, result: DeliveryResult)]) {
        state.withLock { state in
            for (key, _) in written { Self.remove(key, &state) }
        }
    }

    /// Those whose lease was last known to be whole before that time.
    func leased(before time: ContinuousClock.Instant) -> [Entry] { state.withLock { $0.entries.values.filter { $0.leased < time } } }

    func renewed(_ keys: [Key], at time: ContinuousClock.Instant) {
        state.withLock { state in for key in keys { state.entries[key]?.leased = time } }
    }

    /// Whether the delivery is still this copy's for certain: behind a long standstill of the process it may be another's.
    func isLeased(_ claim: ClaimedDelivery, for lease: Duration) -> Bool {
        let now = ContinuousClock.now
        return state.withLock { $0.entries[claim.key].map { now < $0.leased + lease } ?? false }
    }

    /// What is not this copy's any more.
    func drop(_ claim: ClaimedDelivery) {
        state.withLock { Self.remove(claim.key, &$0) }
    }

    private static func remove(_ key: Key, _ state: inout State) {
        guard let entry = state.entries.removeValue(forKey: key) else { return }
        state.counts[entry.message, default: 1] -= 1
        if state.counts[entry.message] == 0 { state.counts[entry.message] = nil }
        state.countsOfSpaces[entry.space, default: 1] -= 1
        if state.countsOfSpaces[entry.space] == 0 { state.countsOfSpaces[entry.space] = nil }
    }
}

extension ClaimedDelivery {
    var key: DeliveriesInHand.Key { DeliveriesInHand.Key(pushID: pushID, attempt: attempt) }
}
