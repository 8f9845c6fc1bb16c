import Logging

extension DeliverySender {
    /// Opens the journal. Without one, deliveries answered just before a crash are sent again.
    func beginJournal() {
        do {
            try journal?.begin()
        } catch {
            logger.warning(
                "Could not open the delivery journal; continuing without it.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Writes the results from abandoned journals. Deliveries that others have claimed since are not changed.
    func readLeftJournals() async throws {
        for left in journal?.left() ?? [] {
            let results = try left.results()
            for first in stride(from: 0, to: results.count, by: Self.maximumPerStatement) {
                try await queue.write(
                    Array(results[first..<min(first + Self.maximumPerStatement, results.count)]), within: statementLimit
                )
            }
            left.discard()
            if !results.isEmpty {
                logger.notice(
                    "Wrote delivery results from an abandoned journal.",
                    metadata: ["delivery.count": "\(results.count)"])
                wakes.continuation.yield()
            }
        }
    }
}
