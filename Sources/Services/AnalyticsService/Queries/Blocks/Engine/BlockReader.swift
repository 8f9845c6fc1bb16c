import Foundation
import MartletPostgres

/// What a question reads blocks and events with: a transaction that sees no change, until it has had its time.
struct BlockReader: Sendable {
    let request: BlockRequest
    let span: Span
    let end: ContinuousClock.Instant
    let transaction: PostgresTransaction

    /// Others have their turn.
    ///
    /// - Throws: `question-too-large`.
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

/// Blocks do not say what is asked for, or it would be too much: the events are asked.
struct NotInBlocks: Error {}

/// Bytes are not what a block has.
struct BrokenBlock: Error {}
