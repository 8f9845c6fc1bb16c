import CoreMetrics
import Foundation
import Logging

/// The periodic work on the queue, the same on each instance.
struct DeliveryMaintenance: Sendable {
    let queue: DeliveryQueue
    let messageCache: MessageCache
    let inFlight: InFlightDeliveries
    let batches: RunningBatches
    let health: PushHealth
    let results: ResultWriter
    let signal: ClaimSignal
    let settings: DeliverySettings
    let metrics: DeliveryMetrics
    let log: DeliveryLog

    /// Runs every second: writes results from abandoned journals, rescues expired leases, ends messages and deliveries,
    /// deletes invalid tokens, and retries broken credentials.
    func run(tryingBrokenCredentials tryBrokenCredentials: () async throws -> Void) async {
        while !Task.isCancelled {
            await attempt("Could not read abandoned journals; retrying.") { try await results.writeLeftoverJournals() }
            await attempt("Could not rescue deliveries of lost instances; retrying.") { try await rescue() }
            await attempt("Could not fail unreadable messages; retrying.") { try await endUnreadable() }
            await attempt("Could not end deliveries of closed messages; retrying.") {
                while try await queue.close() == DeliveryQueue.pageLength, !Task.isCancelled {}
            }
            await attempt("Could not finish messages; retrying.") { _ = try await queue.finish() }
            await attempt("Could not delete invalid push tokens; retrying.") { try await health.forgetTokens() }
            await attempt("Could not test broken credentials; retrying.") { try await tryBrokenCredentials() }
            try? await Task.sleep(for: .seconds(1) * Double.random(in: 0.9...1.1))
        }
    }

    /// Runs at the poll interval, twice a second by default: wakes the claim loop and stops batches of paused or ended
    /// messages.
    func watchMessages() async {
        while !Task.isCancelled {
            signal.wake()
            await attempt("Could not check for stopped messages; retrying.") {
                try await stopBatchesOfStoppedMessages()
            }
            try? await Task.sleep(for: settings.pollInterval * Double.random(in: 0.9...1.1))
        }
    }

    private func stopBatchesOfStoppedMessages() async throws {
        let messages = inFlight.messages
        guard !messages.isEmpty else { return }
        batches.stop(of: Set(try await queue.stopped(messages)))
    }

    /// Runs in its own task, so that slow work does not delay it.
    func keepLeases() async {
        while !Task.isCancelled {
            await attempt("Could not renew delivery leases; retrying.") { try await renew() }
            try? await Task.sleep(for: settings.lease / 6)
        }
    }

    private func renew() async throws {
        let start = ContinuousClock.now
        let old = inFlight.leased(before: start - settings.lease / 3)
        for first in stride(from: 0, to: old.count, by: DeliveryQueue.pageLength) {
            let some = old[first..<min(first + DeliveryQueue.pageLength, old.count)]
            inFlight.renewed(
                try await queue.renew(some, lease: settings.lease, within: settings.statementLimit), at: start)
        }
    }

    private func rescue() async throws {
        let count = try await queue.rescue()
        guard count > 0 else { return }
        metrics.rescued.increment(by: Int64(count))
        log.logger.notice("Rescued deliveries of lost instances.", metadata: ["delivery.count": "\(count)"])
        signal.wake()
    }

    /// Fails unreadable messages. Otherwise they would wait until they expire, with no visible reason.
    private func endUnreadable() async throws {
        let old = messageCache.unreadable(for: settings.unreadableLifetime)
        guard !old.isEmpty else { return }
        let count = try await queue.failUnreadable(old, after: settings.unreadableLifetime)
        if count > 0 {
            log.logger.warning(
                "Failed messages that no running version can read.", metadata: ["message.count": "\(count)"])
        }
        messageCache.forget(old, except: try await queue.unfinished(old))
    }

    /// Logs a failure; the next round retries.
    private func attempt(_ sentence: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            if !Task.isCancelled { log.warn(sentence, error) }
        }
    }
}
