import Foundation
import Logging
import MartletPostgres
import ServiceLifecycle

/// Sends due deliveries. Any number of instances can run at once: they share the queue by leases.
///
/// Claims deliveries in batches, sends them through the push services and writes the results in batches, all
/// concurrently. At most `DeliverySettings.concurrency` deliveries are in flight. At a graceful shutdown, unsent
/// deliveries are released at once.
final class DeliverySender: Service {
    private let queue: DeliveryQueue
    private let messageCache: MessageCache
    private let transport: PushTransport
    private let settings: DeliverySettings
    private let inFlight = InFlightDeliveries()
    private let batches = RunningBatches()
    private let signal = ClaimSignal()
    private let claimer: DeliveryClaimer
    private let attempts: DeliveryAttempts
    private let results: ResultWriter
    private let maintenance: DeliveryMaintenance

    init(
        queue: DeliveryQueue, messageCache: MessageCache, transport: PushTransport, installations: InstallationStore,
        settings: DeliverySettings, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        (self.queue, self.messageCache, self.transport, self.settings) = (queue, messageCache, transport, settings)
        let log = DeliveryLog(logger, now: now)
        let metrics = DeliveryMetrics()
        let health = PushHealth(
            credentials: transport.credentials, installations: installations, rejectionPeriod: settings.rejectionPeriod,
            signal: signal, log: log, now: now)
        claimer = DeliveryClaimer(
            queue: queue, messageCache: messageCache, inFlight: inFlight, batches: batches, health: health,
            signal: signal, settings: settings, metrics: metrics, log: log, now: now)
        attempts = DeliveryAttempts(
            inFlight: inFlight, health: health, transport: transport, lease: settings.lease, now: now)
        results = ResultWriter(
            queue: queue, inFlight: inFlight, journal: settings.journalDirectory.map { DeliveryJournal(in: $0) },
            signal: signal, settings: settings, metrics: metrics, log: log)
        maintenance = DeliveryMaintenance(
            queue: queue, messageCache: messageCache, inFlight: inFlight, batches: batches, health: health,
            results: results, signal: signal, settings: settings, metrics: metrics, log: log)
    }

    /// The number of deliveries that are claimed and whose results are not yet written.
    var inFlightCount: Int { inFlight.count }

    func run() async throws {
        results.begin()
        defer { results.end() }
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.listen() }
                group.addTask { await self.maintenance.watchMessages() }
                group.addTask { await self.maintenance.run { try await self.claimer.claimTrials(self.begin) } }
                group.addTask { await self.maintenance.keepLeases() }
                group.addTask { await self.results.run() }
                await claimer.run(begin)
                await drain()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.batches.stop()
            self.signal.finish()
        }
    }

    private func listen() async {
        for await _ in queue.postgres.listen(DeliveryQueue.channel) { signal.markChanged() }
    }

    @Sendable private func begin(_ batch: DeliveryBatch) { batches.begin(batch) { await self.send($0) } }

    private func send(_ batch: DeliveryBatch) async {
        guard let message = try? await messageCache.messages([batch.message])[batch.message],
            let sendCredentials = try? await transport.sendCredentials(of: message.space)
        else {
            for claim in batch.claims {
                results.finish(claim, .again(after: Verdict.notSentDelay, reason: "not-readable", counts: false))
            }
            return
        }
        await batch.forEach { claim in
            let verdict = await self.attempts.send(claim, of: message, with: sendCredentials, isTrial: batch.isTrial)
            if let verdict { self.results.finish(claim, verdict) } else { self.inFlight.drop(claim) }
        } unsent: { claim in
            self.results.finish(claim, .again(after: .zero, reason: "cancelled", counts: false))
        }
    }

    /// Waits for outstanding answers and until their results are written.
    private func drain() async {
        await waitUntilNoneInFlight(for: settings.shutdownGrace)
        batches.cancel()
        // Wait until unsent deliveries have been released.
        await waitUntilNoneInFlight(for: .seconds(1))
    }

    private func waitUntilNoneInFlight(for limit: Duration) async {
        let end = ContinuousClock.now + limit
        while !Task.isCancelled, ContinuousClock.now < end, inFlight.count > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
