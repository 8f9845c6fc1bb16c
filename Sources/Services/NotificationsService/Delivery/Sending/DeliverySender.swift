import Foundation
import Logging
import MartletPostgres
import MartletPush
import ServiceLifecycle
import Synchronization

/// Sends due deliveries. Any number of instances can run at once: they share the queue by leases.
///
/// Claims deliveries in batches, sends them through the push services and writes the results in batches, all
/// concurrently. At most `DeliverySettings.concurrency` deliveries are in flight. At a graceful shutdown, unsent
/// deliveries are released at once.
final class DeliverySender: Service {
    struct State {
        var batches: [ObjectIdentifier: DeliveryBatch] = [:]
        var holds = Holds()
        var breaker = TokenRateBreaker()
        var doubts = CredentialDoubts()
        var warnings = RareWarnings()
        var gone: [GoneToken] = []
        var isStopping = false
    }

    let queue: DeliveryQueue
    let messageCache: MessageCache
    let transport: PushTransport
    let installations: InstallationStore
    let settings: DeliverySettings
    let logger: Logger
    let now: @Sendable () -> Date
    let inFlight = InFlightDeliveries()
    let state = Mutex(State())
    let metrics = DeliveryMetrics()
    let journal: DeliveryJournal?
    /// Signals that results wait to be written.
    let written = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// Signals that the queue should be read.
    let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let wasNotified = Atomic(true)

    init(
        queue: DeliveryQueue, messageCache: MessageCache, transport: PushTransport, installations: InstallationStore,
        settings: DeliverySettings, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.queue = queue
        self.messageCache = messageCache
        self.transport = transport
        self.installations = installations
        self.settings = settings
        self.logger = logger
        self.now = now
        journal = settings.journalDirectory.map { DeliveryJournal(in: $0) }
    }

    func run() async throws {
        beginJournal()
        defer { journal?.end(isKnown: inFlight.count == 0) }
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

    /// Waits for outstanding answers and until their results are written.
    private func drain() async {
        let end = ContinuousClock.now + settings.shutdownGrace
        while !Task.isCancelled, ContinuousClock.now < end, inFlight.count > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
        for batch in state.withLock({ Array($0.batches.values) }) { batch.cancel() }
        // Wait until unsent deliveries have been released.
        let last = ContinuousClock.now + .seconds(1)
        while !Task.isCancelled, ContinuousClock.now < last, inFlight.count > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    func begin(_ batch: DeliveryBatch) {
        state.withLock { $0.batches[ObjectIdentifier(batch)] = batch }
        batch.begin { await self.send($0) }
    }

    private func listen() async {
        for await _ in queue.postgres.listen(DeliveryQueue.channel) {
            wasNotified.store(true, ordering: .relaxed)
            wakes.continuation.yield()
        }
    }
}
