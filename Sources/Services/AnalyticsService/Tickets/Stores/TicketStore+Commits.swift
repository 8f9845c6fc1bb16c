import MartletCore
import MartletHTTP
import MartletPostgres

extension TicketStore {
    /// Completes tickets because a commit says so, as part of a transaction: their histories name it. Those that are
    /// gone or complete already are left alone; crash issues of theirs stay as they are.
    ///
    /// - Parameter commit: as it stands in the history.
    func complete(_ numbers: [Int], because commit: JSONValue, in space: Space, _ transaction: PostgresTransaction)
        async throws
    {
        let work = try await begin(in: space, by: .service, transaction)
        for number in numbers {
            guard var row = try await work.row(number), !row.isDeleted, row.status != .complete else { continue }
            var change = TicketChange()
            change.status = .complete
            let changes = row.apply(change, labels: nil)
            row.position = try await work.key(for: .usual(in: row.status), in: row.status, of: row.id).text
            try await work.write(row, changes)
            try await work.record(.mendedByCommit, of: row.id, after: commit)
        }
    }
}
