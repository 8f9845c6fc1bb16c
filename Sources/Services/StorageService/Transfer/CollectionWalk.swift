import MartletPostgres

/// Reads a collection in the order of ids within one transaction, a portion at a time.
struct CollectionWalk {
    private static let rows = 500
    private static let portionSizeInBytes = 1 << 20

    let transaction: PostgresTransaction
    let table: PostgresIdentifier
    var shown = Rendering.object(.master)
    var condition: PostgresQuery = "TRUE"

    /// Passes the JSON texts of the objects to `body`, a portion at a time in the order of ids, without removed
    /// objects.
    func portions(_ body: (PostgresRows) async throws -> Void) async throws {
        var last = ""
        while true {
            let rows = try await transaction.query(
                """
                SELECT object, id FROM (
                    SELECT id, object, sum(octet_length(object)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - octet_length(object) AS before
                    FROM (
                        SELECT id, \(shown) AS object FROM \(table)
                        WHERE deleted IS NULL AND id > \(last) AND \(condition) ORDER BY id LIMIT \(Self.rows)) AS page) AS sized
                WHERE before < \(Self.portionSizeInBytes) ORDER BY id
                """)
            guard let end = rows.last else { return }
            last = try end.decode(1)
            try await body(rows)
        }
    }
}
