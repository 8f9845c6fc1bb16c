import Logging

extension DeliverySender {
    /// Without it, what was answered just before a death is sent again.
    func beginJournal() {
        do {
            try journal?.begin()
        } catch {
            logger.warning("answers of push services are not noted on disk", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Writes down what copies were answered that are gone. What others have taken over since stays as it is.
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
                logger.notice("answers to a lost copy written down", metadata: ["delivery.count": "\(results.count)"])
                wakes.continuation.yield()
            }
        }
    }
}
