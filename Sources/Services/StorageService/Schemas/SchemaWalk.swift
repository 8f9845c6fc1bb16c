import MartletAPI
import MartletCore
import MartletPostgres

/// Checks the stored objects of a collection against a schema, a portion at a time.
struct SchemaWalk {
    let schema: CollectionSchema
    let table: PostgresIdentifier
    let collection: CollectionName
    private(set) var report = SchemaReport()

    init(schema: CollectionSchema, table: PostgresIdentifier, collection: CollectionName) {
        (self.schema, self.table, self.collection) = (schema, table, collection)
    }

    /// The transaction's snapshot, and the identity of the table.
    func start(_ transaction: PostgresTransaction) async throws -> (snapshot: String, oid: Int) {
        let row = try await transaction.query(
            "SELECT pg_current_snapshot()::text, to_regclass(\(table.quoted))::oid::bigint")[0]
        return (try row.decode(0), try row.decode(1))
    }

    mutating func checkAll(_ transaction: PostgresTransaction, _ progress: (Int) async throws -> Void) async throws {
        var walk = CollectionWalk(transaction: transaction, table: table)
        walk.shown = "doc::text"
        try await walk.portions { rows in
            for row in rows { check(id: try row.decode(1), try row.decode(0)) }
            try await progress(report.checked)
        }
    }

    /// Checks the objects that were written since a snapshot.
    ///
    /// - Throws: `unavailable` if there are more than can be checked in time.
    mutating func checkChanges(
        since snapshot: String, in changes: PostgresIdentifier, within time: Duration,
        _ transaction: PostgresTransaction
    ) async throws {
        let deadline = ContinuousClock.now + time
        var walk = CollectionWalk(transaction: transaction, table: table)
        walk.shown = "doc::text"
        walk.condition = """
            id IN (
                SELECT c.id FROM \(changes) AS c WHERE c.collection = \(collection.text)
                    AND c.txid >= pg_snapshot_xmin(\(snapshot)::pg_snapshot)
                    AND NOT pg_visible_in_snapshot(c.txid, \(snapshot)::pg_snapshot))
            """
        try await walk.portions { rows in
            for row in rows { check(id: try row.decode(1), try row.decode(0)) }
            guard ContinuousClock.now < deadline else {
                throw ServiceError(.unavailable, "Too many objects were written meanwhile. Try again later.")
            }
        }
    }

    /// Whether the change log still has all changes since a snapshot. A rename deletes them, and a rename back does not
    /// bring them back.
    func hasChanges(
        since snapshot: String, floor: PostgresIdentifier, _ transaction: PostgresTransaction
    ) async throws -> Bool {
        try await transaction.query(
            """
            SELECT FROM \(floor) WHERE collection = \(collection.text)
                AND NOT pg_visible_in_snapshot(txid, \(snapshot)::pg_snapshot)
            """
        ).isEmpty
    }

    private mutating func check(id: String, _ text: String) {
        report.checked += 1
        do {
            try schema.check(stored: text, for: .master)
        } catch {
            guard let problem = error as? ServiceError else { return }
            report.record(id, problem)
        }
    }
}

/// The objects of a collection that do not fit a schema.
struct SchemaReport: Codable, Sendable, Equatable {
    static let maximumListed = 20

    struct Violation: Codable, Sendable, Equatable {
        var id: String
        /// The JSON Pointer of the first value that does not fit.
        var pointer: String
        /// A sentence that ends with the keyword.
        var message: String
    }

    /// The number of objects that were checked. Those written during the check count twice.
    var checked = 0
    /// The number of objects that do not fit.
    var misfits = 0
    /// The first of them.
    var first: [Violation] = []

    mutating func record(_ id: String, _ problem: ServiceError) {
        // An object that was written during the check may be found twice.
        guard !first.contains(where: { $0.id == id }) else { return }
        misfits += 1
        guard first.count < Self.maximumListed else { return }
        first.append(Violation(id: id, pointer: problem.field ?? "", message: problem.detail ?? ""))
    }

    /// Objects do not fit, and nothing has changed.
    struct Refusal: Error {
        let report: SchemaReport

        var detail: String {
            """
            \(report.misfits) of \(report.checked) objects do not fit the schema. Change them, or set the schema with \
            allowExisting=true and leave them as they are until they are written again.
            """
        }

        var problem: ServiceError {
            ServiceError(
                .conflict, detail,
                findings: report.first.map { .init(.error, "misfit", at: "/\($0.id)\($0.pointer)", $0.message) })
        }
    }
}
