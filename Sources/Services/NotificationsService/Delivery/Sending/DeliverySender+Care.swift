import CoreMetrics
import Foundation
import Logging
import Synchronization

extension DeliverySender {
    /// Each second: answers to lost copies written down, leases of others taken back, messages ended, tokens forgotten.
    func takeCareFromTimeToTime() async {
        while !Task.isCancelled {
            await attempt("journals not read") { try await self.readLeftJournals() }
            await attempt("deliveries not rescued") { try await self.rescue() }
            await attempt("unreadable messages not ended") { try await self.endUnreadable() }
            await attempt("deliveries not ended") {
                while try await self.queue.close() == DeliveryQueue.pageLength, !Task.isCancelled {}
            }
            await attempt("messages not ended") { _ = try await self.queue.finish() }
            await attempt("tokens not forgotten") { try await self.forgetTokens() }
            await attempt("broken credentials not tried") { try await self.tryBrokenCredentials() }
            try? await Task.sleep(for: .seconds(1) * Double.random(in: 0.9...1.1))
        }
    }

    /// Twice a second with the usual interval: what is due by now, and what is not to be sent any more.
    func lookFromTimeToTime() async {
        while !Task.isCancelled {
            wakes.continuation.yield()
            await attempt("stopped messages not seen") { try await self.stopWhatIsStopped() }
            try? await Task.sleep(for: settings.pollInterval * Double.random(in: 0.9...1.1))
        }
    }

    private func stopWhatIsStopped() async throws {
        let messages = inFlight.messages
        guard !messages.isEmpty else { return }
        let stopped = Set(try await queue.stopped(messages))
        let batches = state.withLock { state in state.batches.values.filter { stopped.contains($0.message) } }
        for batch in batches { batch.stop() }
    }

    /// By itself, so that nothing that takes long stands in its way.
    func keepLeases() async {
        while !Task.isCancelled {
            await attempt("leases not renewed") { try await self.renew() }
            try? await Task.sleep(for: settings.lease / 6)
        }
    }

    private func renew() async throws {
        let start = ContinuousClock.now
        let old = inFlight.leased(before: start - settings.lease / 3)
        for first in stride(from: 0, to: old.count, by: DeliveryQueue.pageLength) {
            let some = old[first..<min(first + DeliveryQueue.pageLength, old.count)]
            inFlight.renewed(try await queue.renew(some, lease: settings.lease, within: statementLimit), at: start)
        }
    }

    /// So that one that waits, whatever for, is tried again while leases are good.
    var statementLimit: Duration { max(settings.lease / 6, .seconds(1)) }

    private func rescue() async throws {
        let count = try await queue.rescue()
        guard count > 0 else { return }
        metrics.rescued.increment(by: Int64(count))
        logger.notice("deliveries of lost copies taken back", metadata: ["delivery.count": "\(count)"])
        wakes.continuation.yield()
    }

    /// Else they would wait until they expire, and nobody would know why.
    private func endUnreadable() async throws {
        let old = messageCache.unreadable(for: settings.patienceWithUnreadable)
        guard !old.isEmpty else { return }
        let count = try await queue.failUnreadable(old, after: settings.patienceWithUnreadable)
        if count > 0 {
            logger.warning("messages that cannot be read have failed", metadata: ["message.count": "\(count)"])
        }
        messageCache.forget(old, except: try await queue.unfinished(old))
    }

    /// One message for each that is due to be tried; what it is answered with decides.
    private func tryBrokenCredentials() async throws {
        guard !state.withLock({ $0.isStopping }) else { return }
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

    /// What fails is done the next time.
    private func attempt(_ sentence: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            if !Task.isCancelled { warn(sentence, error) }
        }
    }
}

// MARK: - Results

extension DeliverySender {
    static let resultsPerStatement = 500
    static let maximumPerStatement = 1_000
    /// Results that come within it are written together.
    private static let gathering: Duration = .milliseconds(10)
    private static let retryDelay: Duration = .milliseconds(250)

    func writeResults() async {
        for await _ in written.stream {
            try? await Task.sleep(for: Self.gathering)
            while !Task.isCancelled {
                let results = inFlight.takeResults(upTo: Self.maximumPerStatement)
                guard !results.isEmpty else { break }
                await write(results)
                // What was given up at the end of the process stays in hand, and in the journal.
                if Task.isCancelled { return }
                inFlight.forget(results)
                journal?.clear { inFlight.results(atMost: $0) }
                metrics.inFlight.record(inFlight.count)
                wakes.continuation.yield()
            }
        }
    }

    /// Tries for as long as the lease is good: then others do the work again.
    private func write(_ results: [(key: InFlightDeliveries.Key, result: DeliveryResult)]) async {
        let end = ContinuousClock.now + settings.lease
        while !Task.isCancelled {
            do {
                return try await queue.write(results.map(\.result), within: statementLimit)
            } catch {
                guard ContinuousClock.now < end else {
                    return logger.warning(
                        "results of deliveries were not written",
                        metadata: ["delivery.count": "\(results.count)", "error.cause": "\(error)"])
                }
                warn("results not written yet", error)
                try? await Task.sleep(for: Self.retryDelay)
            }
        }
    }
}
