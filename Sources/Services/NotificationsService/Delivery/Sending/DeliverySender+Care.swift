import CoreMetrics
import Foundation
import Logging
import Synchronization

extension DeliverySender {
    /// Runs every second: writes results from abandoned journals, rescues expired leases, ends messages and deliveries,
    /// deletes invalid tokens, and retries broken credentials.
    func takeCareFromTimeToTime() async {
        while !Task.isCancelled {
            await attempt("Could not read abandoned journals; retrying.") { try await self.readLeftJournals() }
            await attempt("Could not rescue deliveries of lost instances; retrying.") { try await self.rescue() }
            await attempt("Could not fail unreadable messages; retrying.") { try await self.endUnreadable() }
            await attempt("Could not end deliveries of closed messages; retrying.") {
                while try await self.queue.close() == DeliveryQueue.pageLength, !Task.isCancelled {}
            }
            await attempt("Could not finish messages; retrying.") { _ = try await self.queue.finish() }
            await attempt("Could not delete invalid push tokens; retrying.") { try await self.forgetTokens() }
            await attempt("Could not test broken credentials; retrying.") { try await self.tryBrokenCredentials() }
            try? await Task.sleep(for: .seconds(1) * Double.random(in: 0.9...1.1))
        }
    }

    /// Runs at the poll interval, twice a second by default: wakes the claim loop and stops batches of paused or ended
    /// messages.
    func lookFromTimeToTime() async {
        while !Task.isCancelled {
            wakes.continuation.yield()
            await attempt("Could not check for stopped messages; retrying.") {
                try await self.stopBatchesOfStoppedMessages()
            }
            try? await Task.sleep(for: settings.pollInterval * Double.random(in: 0.9...1.1))
        }
    }

    private func stopBatchesOfStoppedMessages() async throws {
        let messages = inFlight.messages
        guard !messages.isEmpty else { return }
        let stopped = Set(try await queue.stopped(messages))
        let batches = state.withLock { state in state.batches.values.filter { stopped.contains($0.message) } }
        for batch in batches { batch.stop() }
    }

    /// Runs in its own task, so that slow work does not delay it.
    func keepLeases() async {
        while !Task.isCancelled {
            await attempt("Could not renew delivery leases; retrying.") { try await self.renew() }
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

    /// Short enough that a blocked statement can be retried while the leases are valid.
    var statementLimit: Duration { max(settings.lease / 6, .seconds(1)) }

    private func rescue() async throws {
        let count = try await queue.rescue()
        guard count > 0 else { return }
        metrics.rescued.increment(by: Int64(count))
        logger.notice("Rescued deliveries of lost instances.", metadata: ["delivery.count": "\(count)"])
        wakes.continuation.yield()
    }

    /// Fails unreadable messages. Otherwise they would wait until they expire, with no visible reason.
    private func endUnreadable() async throws {
        let old = messageCache.unreadable(for: settings.patienceWithUnreadable)
        guard !old.isEmpty else { return }
        let count = try await queue.failUnreadable(old, after: settings.patienceWithUnreadable)
        if count > 0 {
            logger.warning("Failed messages that no running version can read.", metadata: ["message.count": "\(count)"])
        }
        messageCache.forget(old, except: try await queue.unfinished(old))
    }

    /// Sends one message with each broken credential that is due for a retry. The answer decides whether it works
    /// again.
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

    /// Logs a failure; the next round retries.
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
    /// Results that arrive within this time are written together.
    private static let gathering: Duration = .milliseconds(10)
    private static let retryDelay: Duration = .milliseconds(250)

    func writeResults() async {
        for await _ in written.stream {
            try? await Task.sleep(for: Self.gathering)
            while !Task.isCancelled {
                let results = inFlight.takeResults(upTo: Self.maximumPerStatement)
                guard !results.isEmpty else { break }
                await write(results)
                // Results given up at shutdown stay in flight and in the journal.
                if Task.isCancelled { return }
                inFlight.forget(results)
                journal?.clear { inFlight.results(atMost: $0) }
                metrics.inFlight.record(inFlight.count)
                wakes.continuation.yield()
            }
        }
    }

    /// Retries until the lease expires. After that, other instances repeat the deliveries.
    private func write(_ results: [(key: InFlightDeliveries.Key, result: DeliveryResult)]) async {
        let end = ContinuousClock.now + settings.lease
        while !Task.isCancelled {
            do {
                return try await queue.write(results.map(\.result), within: statementLimit)
            } catch {
                guard ContinuousClock.now < end else {
                    return logger.warning(
                        "Could not write delivery results; the deliveries are sent again when their leases expire.",
                        metadata: ["delivery.count": "\(results.count)", "error.cause": "\(error)"])
                }
                warn("Could not write delivery results; retrying.", error)
                try? await Task.sleep(for: Self.retryDelay)
            }
        }
    }
}
