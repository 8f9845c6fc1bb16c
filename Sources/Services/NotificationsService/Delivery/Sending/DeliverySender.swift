import Foundation
import Logging
import MartletPostgres
import MartletPush
import ServiceLifecycle
import Synchronization

/// Sends what is due. Any number of copies may, in any number of processes: they share the queue by leases.
///
/// Claims in batches, sends each by its push service, writes results down in batches; all at the same time, and never
/// more in hand than `DeliverySettings.concurrency`. After a graceful shutdown what has not left is given back at once.
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
    /// Results wait to be written.
    let written = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// It is worth looking at the queue.
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

    /// Waits for the answers to what has left, and until all of it is written down.
    private func drain() async {
        let end = ContinuousClock.now + settings.shutdownGrace
        while !Task.isCancelled, ContinuousClock.now < end, inFlight.count > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
        for batch in state.withLock({ Array($0.batches.values) }) { batch.cancel() }
        // What never left is given back.
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
