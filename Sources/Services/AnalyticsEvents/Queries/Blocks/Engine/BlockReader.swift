import Foundation
import MartletPostgres

/// Reads blocks and events for a question, in one transaction with a fixed snapshot, until the question's deadline.
struct BlockReader: Sendable {
    let request: BlockRequest
    let span: Span
    let end: ContinuousClock.Instant
    let transaction: PostgresTransaction

    /// Lets other tasks run.
    ///
    /// - Throws: `question-too-large` if the deadline has passed; `CancellationError`.
    func checkDeadlineAndYield() async throws {
        try Task.checkCancellation()
        guard ContinuousClock.now < end else { throw QuestionStore.tooLarge(QuestionStore.rawTimeout) }
        await Task.yield()
    }

    /// - Throws: as `checkDeadlineAndYield`; `PostgresError`.
    func query(_ query: PostgresQuery) async throws -> PostgresRows {
        try await checkDeadlineAndYield()
        return try await transaction.query(query, timeout: end - .now)
    }

    func texts(of terms: [Int]) async throws -> [Int32: String] {
        var texts: [Int32: String] = [:]
        guard !terms.isEmpty else { return texts }
        for row in try await query("SELECT id, text FROM analytics.terms WHERE id = ANY (\(terms))") {
            texts[try row.decode(0)] = try row.decode(1)
        }
        return texts
    }
}

/// The blocks cannot answer the question, or not within the limits of memory; the events must be queried.
struct NotInBlocks: Error {}

/// The bytes of a block do not have the expected format.
struct BrokenBlock: Error {}
