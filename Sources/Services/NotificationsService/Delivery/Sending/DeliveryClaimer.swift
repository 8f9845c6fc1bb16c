import CoreMetrics
import Foundation
import Logging

/// Claims due deliveries, as many as may be in flight.
struct DeliveryClaimer: Sendable {
    let queue: DeliveryQueue
    let messageCache: MessageCache
    let inFlight: InFlightDeliveries
    let batches: RunningBatches
    let health: PushHealth
    let signal: ClaimSignal
    let settings: DeliverySettings
    let metrics: DeliveryMetrics
    let log: DeliveryLog
    let now: @Sendable () -> Date

    /// The work that was last read from the queue.
    private struct KnownWork {
        var work: [DeliveryQueue.Work] = []
        var read: ContinuousClock.Instant?
        /// Whether the queue may contain more messages than were read.
        var isFull = false
    }

    private struct WorkKey: Hashable {
        var message: UUID
        var service: PushService?
    }

    /// Claims deliveries whenever it is woken, until shutdown.
    func run(_ begin: (DeliveryBatch) -> Void) async {
        var work = KnownWork()
        for await _ in signal.wakes {
            while let batches = await claim(&work) {
                for batch in batches { begin(batch) }
            }
        }
    }

    /// Claims one message with each broken credential that is due for a retry. The answer decides whether it works
    /// again.
    func claimTrials(_ begin: (DeliveryBatch) -> Void) async throws {
        guard !batches.isStopping else { return }
        let trials = try await queue.trials()
        guard !trials.isEmpty else { return }
        let messages = try await messageCache.messages(trials.map(\.message))
        for trial in trials {
            guard let message = messages[trial.message] else { continue }
            let start = ContinuousClock.now
            let share = ClaimShare(message: message.id, service: trial.service, limit: 1, badge: message.badge)
            let claims = try await queue.claim([share], lease: settings.lease)
            inFlight.add(claims, once: message.isAtMostOnce ? [message.id] : [], at: start)
            if !claims.isEmpty { begin(DeliveryBatch(message.id, claims, isTrial: true)) }
        }
    }

    /// Claims deliveries. Nil if there is no capacity or no work.
    private func claim(_ known: inout KnownWork) async -> [DeliveryBatch]? {
        let room = settings.concurrency - inFlight.count
        guard !batches.isStopping, !Task.isCancelled,
            room >= min(settings.concurrency / 16, ClaimPlan.maximumRows)
        else { return nil }
        do {
            let age = known.read.map { ContinuousClock.now - $0 } ?? .seconds(3_600)
            if signal.takeChange() || age > settings.pollInterval || known.isFull && known.work.isEmpty {
                known.work = try await queue.work(except: messageCache.unreadable)
                known.read = .now
                known.isFull = known.work.count == DeliveryQueue.maximumWork
            }
            guard !known.work.isEmpty else { return nil }
            return try await claim(&known, room: room)
        } catch {
            log.warn("Could not claim deliveries; retrying.", error)
            known.work = []
            return nil
        }
    }

    private func claim(_ known: inout KnownWork, room: Int) async throws -> [DeliveryBatch]? {
        let messages = try await messageCache.messages(known.work.map(\.message))
        let time = now()
        // Leave messages that this version cannot read to another version.
        let work = known.work.filter { messages[$0.message] != nil }
        var plan = ClaimPlan(room: room, onceRoom: inFlight.onceRoom) {
            (messages[$0]?.badge, messages[$0]?.isAtMostOnce ?? false)
        }
        let holds = health.holds
        // Deliveries already in flight count against their space, so slow push services of one space leave capacity to
        // others.
        let shares = plan.shares(work) {
            max(0, 2 * room - inFlight.count(of: $0))
        } ofLane: { work in
            let mine = work.lane.service == nil ? inFlight.count(of: work.lane.space) : inFlight.count(of: work.lane)
            return holds.limit(work.lane.space, work.services, at: time).map { max(0, $0 - mine) }
        }
        guard !shares.isEmpty else { return nil }
        let start = ContinuousClock.now
        let claims = try await queue.claim(shares, lease: settings.lease)
        inFlight.add(claims, once: Set(messages.values.filter(\.isAtMostOnce).map(\.id)), at: start)
        metrics.inFlight.record(inFlight.count)
        let batches = DeliveryBatch.batches(claims)
        // Fewer rows than requested: nothing more is due for that message and service.
        let counts = claims.reduce(into: [:]) { $0[WorkKey(message: $1.message, service: $1.service), default: 0] += 1 }
        let done = Set(
            shares.map { (WorkKey(message: $0.message, service: $0.service), $0.limit) }.filter {
                counts[$0, default: 0] < $1
            }.map(\.0))
        known.work.removeAll { done.contains(WorkKey(message: $0.message, service: $0.lane.service)) }
        return batches.isEmpty && known.work.isEmpty ? nil : batches
    }
}
