import CoreMetrics
import Foundation
import Logging
import Synchronization

extension DeliverySender {
    /// Messages to work on, as they were read last.
    struct KnownWork {
        var work: [DeliveryQueue.Work] = []
        var read: ContinuousClock.Instant?
        /// There may be more messages than were read.
        var isFull = false
    }

    private struct Turn: Hashable {
        var message: UUID
        var service: PushService?
    }

    /// Nil: there is no room, or nothing to do.
    func claim(_ known: inout KnownWork) async -> [DeliveryBatch]? {
        let room = settings.concurrency - inFlight.count
        guard !state.withLock({ $0.isStopping }), !Task.isCancelled,
            room >= min(settings.concurrency / 16, ClaimPlan.maximumRows)
        else { return nil }
        do {
            let age = known.read.map { ContinuousClock.now - $0 } ?? .seconds(3_600)
            if wasNotified.exchange(false, ordering: .relaxed) || age > settings.pollInterval
                || known.isFull && known.work.isEmpty
            {
                known.work = try await queue.work(except: messageCache.unreadable)
                known.read = .now
                known.isFull = known.work.count == DeliveryQueue.maximumWork
            }
            guard !known.work.isEmpty else { return nil }
            return try await claim(&known, room: room)
        } catch {
            warn("no deliveries claimed", error)
            known.work = []
            return nil
        }
    }

    private func claim(_ known: inout KnownWork, room: Int) async throws -> [DeliveryBatch]? {
        let messages = try await messageCache.messages(known.work.map(\.message))
        let time = now()
        // What this version cannot read is left to one that can.
        let work = known.work.filter { messages[$0.message] != nil }
        var plan = ClaimPlan(room: room, onceRoom: inFlight.onceRoom) {
            (messages[$0]?.badge, messages[$0]?.isAtMostOnce ?? false)
        }
        let shares = state.withLock { state in
            // What one space has in hand already leaves room to others, however slow its push services are.
            plan.shares(work) {
                max(0, 2 * room - inFlight.count(of: $0))
            } ofLane: { work in
                let mine =
                    work.lane.service == nil ? inFlight.count(of: work.lane.space) : inFlight.count(of: work.lane)
                return state.holds.limit(work.lane.space, work.services, at: time).map { max(0, $0 - mine) }
            }
        }
        guard !shares.isEmpty else { return nil }
        let start = ContinuousClock.now
        let claims = try await queue.claim(shares, lease: settings.lease)
        inFlight.add(claims, once: Set(messages.values.filter(\.isAtMostOnce).map(\.id)), at: start)
        metrics.inFlight.record(inFlight.count)
        let batches = DeliveryBatch.batches(claims)
        // Of which less came than was asked for, nothing more is due.
        let counts = claims.reduce(into: [:]) { $0[Turn(message: $1.message, service: $1.service), default: 0] += 1 }
        let done = Set(
            shares.map { (Turn(message: $0.message, service: $0.service), $0.limit) }.filter {
                counts[$0, default: 0] < $1
            }.map(\.0))
        known.work.removeAll { done.contains(Turn(message: $0.message, service: $0.lane.service)) }
        return batches.isEmpty && known.work.isEmpty ? nil : batches
    }
}
