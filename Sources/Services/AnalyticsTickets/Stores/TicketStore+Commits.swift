package import MartletCore
import MartletHTTP
package import MartletPostgres

extension TicketStore {
    /// Completes tickets that a commit fixes, and names the commit in their histories. Runs as part of a transaction.
    /// Deleted and complete tickets are left alone, and crash issues do not change.
    ///
    /// - Parameter commit: The commit as shown in the history.
    package func complete(
        _ numbers: [Int], because commit: JSONValue, in space: Space, _ transaction: PostgresTransaction
    )
        async throws
    {
        let work = try await begin(in: space, by: .service, transaction)
        for number in numbers {
            guard var row = try await work.row(number), !row.isDeleted, row.status != .complete else { continue }
            var change = TicketChange()
            change.status = .complete
            let changes = row.apply(change, labels: nil)
            row.position = try await work.key(for: .defaultPlace(in: row.status), in: row.status, of: row.id).text
            try await work.write(row, changes)
            try await work.record(.fixedByCommit, of: row.id, after: commit)
        }
    }
}
