import CoreMetrics
import Foundation
import Logging
import MartletPostgres
import MartletPush
import ServiceLifecycle
import Synchronization

/// Sends what is due. Any number of copies may, in any number of processes: they share the queue by leases.
///
/// Claims in batches, sends each by its push service, writes results down in batches; all at the same time, and never more in hand than
/// `DeliverySettings.concurrency`. After a graceful shutdown what has not left is given back at once.
final class DeliverySender: Service {
    struct State {
        var batches: [ObjectIdentifier: DeliveryBatch] = [:]
        var holds = Holds()
        var brake = TokenBrake()
        var doubts = CredentialDoubts()
        var warnings = RareWarnings()
        var gone: [GoneToken] = []
        var isStopping = false
    }

    let queue: DeliveryQueue
    let shelf: MessageShelf
    let transport: PushTransport
    let installations: InstallationStore
    let settings: DeliverySettings
    let logger: Logger
    let now: @Sendable () -> Date
    let hand = DeliveriesInHand()
    let state = Mutex(State())
    let metrics = DeliveryMetrics()
    /// Results wait to be written.
    let written = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// It is worth looking at the queue.
    let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let isTold = Atomic(true)

    init(
        queue: DeliveryQueue, shelf: MessageShelf, transport: PushTransport, installations: InstallationStore, settings: DeliverySettings, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.queue = queue
        self.shelf = shelf
        self.transport = transport
        self.installations = installations
        self.settings = settings
        self.logger = logger
        self.now = now
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.listen() }
                group.addTask { await self.lookFromTimeToTime() }
                group.addTask { await self.takeCareFromTimeToTime() }
                group.addTask { await self.keepLeases() }
                group.addTask { await self.writeResults() }
                var work = KnownWork()
                for await _ in wakes.stream {
                    while let batches = await claim(&work) {
                        for batch in batches { begin(batch) }
                    }
                }
                await drain()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.stop()
        }
    }

    private func stop() {
        let batches = state.withLock { state in
            state.isStopping = true
            return Array(state.batches.values)
        }
        for batch in batches { batch.stop() }
        wakes.continuation.finish()
    }

    /// Waits for the answers to what has left, and until all of it is written down.
    private func drain() async {
        let end = ContinuousClock.now + settings.shutdownGrace
        while !Task.isCancelled, ContinuousClock.now < end, hand.count > 0 { try? await Task.sleep(for: .milliseconds(10)) }
        for batch in state.withLock({ Array($0.batches.values) }) { batch.cancel() }
        // What never left is given back.
        let last = ContinuousClock.now + .seconds(1)
        while !Task.isCancelled, ContinuousClock.now < last, hand.count > 0 { try? await Task.sleep(for: .milliseconds(10)) }
    }

    func begin(_ batch: DeliveryBatch) {
        state.withLock { $0.batches[ObjectIdentifier(batch)] = batch }
        batch.begin { await self.send($0) }
    }

    private func listen() async {
        for await _ in queue.postgres.listen(DeliveryQueue.channel) {
            isTold.store(true, ordering: .relaxed)
            wakes.continuation.yield()
        }
    }
}

// MARK: - Claiming

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
    private func claim(_ known: inout KnownWork) async -> [DeliveryBatch]? {
        let room = settings.concurrency - hand.count
        guard !state.withLock({ $0.isStopping }), !Task.isCancelled, room >= min(settings.concurrency / 16, ClaimPlan.maximumRows) else { return nil }
        do {
            let age = known.read.map { ContinuousClock.now - $0 } ?? .seconds(3_600)
            if isTold.exchange(false, ordering: .relaxed) || age > settings.pollInterval || known.isFull && known.work.isEmpty {
                known.work = try await queue.work()
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
        let messages = try await shelf.messages(known.work.map(\.message))
        let time = now()
        // What this version cannot read is left to one that can.
        let work = known.work.filter { messages[$0.message] != nil }
        var plan = ClaimPlan(room: room, onceRoom: hand.onceRoom) { (messages[$0]?.badge, messages[$0]?.isAtMostOnce ?? false) }
        let shares = state.withLock { state in
            // What one space has in hand already leaves room to others, however slow its push services are.
            plan.shares(work) {
                max(0, 2 * room - hand.count(of: $0))
            } ofLane: { work in
                let mine = work.lane.service == nil ? hand.count(of: work.lane.space) : hand.count(of: work.lane)
                return state.holds.limit(work.lane.space, work.services, at: time).map { max(0, $0 - mine) }
            }
        }
        guard !shares.isEmpty else { return nil }
        let start = ContinuousClock.now
        let claims = try await queue.claim(shares, lease: settings.lease)
        hand.add(claims, once: Set(messages.values.filter(\.isAtMostOnce).map(\.id)), at: start)
        metrics.inHand.record(hand.count)
        let batches = DeliveryBatch.batches(claims)
        // Of which less came than was asked for, nothing more is due.
        let counts = claims.reduce(into: [:]) { $0[Turn(message: $1.message, service: $1.service), default: 0] += 1 }
        let done = Set(shares.map { (Turn(message: $0.message, service: $0.service), $0.limit) }.filter { counts[$0, default: 0] < $1 }.map(\.0))
        known.work.removeAll { done.contains(Turn(message: $0.message, service: $0.lane.service)) }
        return batches.isEmpty && known.work.isEmpty ? nil : batches
    }
}
