import CoreMetrics
import Foundation
import Logging

/// Writes the results of deliveries to the queue in batches. Until then they are in the journal, if there is one.
struct ResultWriter: Sendable {
    private static let resultsPerStatement = 500
    private static let maximumPerStatement = 1_000
    /// Results that arrive within this time are written together.
    private static let gathering: Duration = .milliseconds(10)
    private static let retryDelay: Duration = .milliseconds(250)

    let queue: DeliveryQueue
    let inFlight: InFlightDeliveries
    let journal: DeliveryJournal?
    let signal: ClaimSignal
    let settings: DeliverySettings
    let metrics: DeliveryMetrics
    let log: DeliveryLog
    /// Signals that results wait to be written.
    private let waiting = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Opens the journal. Without one, deliveries answered just before a crash are sent again.
    func begin() {
        do {
            try journal?.begin()
        } catch {
            log.logger.warning(
                "Could not open the delivery journal; continuing without it.", metadata: ["error.cause": "\(error)"])
        }
    }

    func end() { journal?.end(isWritten: inFlight.count == 0) }

    func finish(_ claim: ClaimedDelivery, _ verdict: Verdict) {
        metrics.count(verdict)
        let count = inFlight.finish(claim, verdict)
        journal?.record(DeliveryResult(claim, verdict))
        if count == 1 || count == Self.resultsPerStatement { waiting.continuation.yield() }
    }

    func run() async {
        for await _ in waiting.stream {
            try? await Task.sleep(for: Self.gathering)
            while !Task.isCancelled {
                let results = inFlight.takeResults(upTo: Self.maximumPerStatement)
                guard !results.isEmpty else { break }
                await write(results.map(\.result))
                // Results given up at shutdown stay in flight and in the journal.
                if Task.isCancelled { return }
                inFlight.forget(results)
                journal?.clear { inFlight.results(atMost: $0) }
                metrics.inFlight.record(inFlight.count)
                signal.wake()
            }
        }
    }

    /// Retries until the lease expires. After that, other instances repeat the deliveries.
    private func write(_ results: [DeliveryResult]) async {
        let end = ContinuousClock.now + settings.lease
        while !Task.isCancelled {
            do {
                return try await queue.write(results, within: settings.statementLimit)
            } catch {
                guard ContinuousClock.now < end else {
                    return log.logger.warning(
                        "Could not write delivery results; the deliveries are sent again when their leases expire.",
                        metadata: ["delivery.count": "\(results.count)", "error.cause": "\(error)"])
                }
                log.warn("Could not write delivery results; retrying.", error)
                try? await Task.sleep(for: Self.retryDelay)
            }
        }
    }

    /// Writes the results from abandoned journals. Deliveries that others have claimed since are not changed.
    func writeLeftoverJournals() async throws {
        for left in journal?.leftoverJournals() ?? [] {
            let results = try left.results()
            for first in stride(from: 0, to: results.count, by: Self.maximumPerStatement) {
                try await queue.write(
                    Array(results[first..<min(first + Self.maximumPerStatement, results.count)]),
                    within: settings.statementLimit)
            }
            left.discard()
            if !results.isEmpty {
                log.logger.notice(
                    "Wrote delivery results from an abandoned journal.",
                    metadata: ["delivery.count": "\(results.count)"])
                signal.wake()
            }
        }
    }
}
