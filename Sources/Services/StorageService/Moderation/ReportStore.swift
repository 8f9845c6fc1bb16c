import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Reports of objects, and the queue of them for the app's moderators.
struct ReportStore: Sendable {
    static let maximumTextInBytes = 1_000
    static let maximumPerDay = 100
    /// How long a resolved report is kept.
    static let retentionInDays: Int32 = 90

    let postgres: PostgresClient
    let spaces: Spaces

    struct Report: Codable, Sendable {
        var id: String
        var collection: String
        var object: String
        var reporter: String
        var reason: String
        var created: String
        var resolved: String?
        var resolution: String?
    }

    struct Page: Sendable {
        var isResolved = false
        var collection: CollectionName?
        var after: UUID?
        var limit = 100
    }

    private static let columns: PostgresQuery = """
        id, collection, object, reporter, reason, \(PostgresQuery.rfc3339("created")), \(PostgresQuery.rfc3339("resolved")), resolution
        """

    private static func report(_ row: PostgresRow) throws -> Report {
        Report(
            id: try row.decode(0, as: UUID.self).uuidString.lowercased(), collection: try row.decode(1),
            object: try row.decode(2), reporter: try row.decode(3), reason: try row.decode(4),
            created: try row.decode(5), resolved: try row.decode(6), resolution: try row.decode(7))
    }

    /// Stores a user's report; a second one of the same object changes nothing. Nil if there is no object that the
    /// user may read, by `get` or by `find`.
    ///
    /// - Throws: `too-many-requests` beyond `maximumPerDay`.
    func add(_ reason: String, on object: ObjectID, by user: String, in scope: QueryScope) async throws
        -> (report: Report, isNew: Bool)?
    {
        let (space, table) = (scope.space, try scope.space.own("_reports"))
        try await spaces.prepare(space)
        do {
            return try await postgres.withTransaction(role: space.role) { transaction in
                let conditions = ["id = \(object.text)", "deleted IS NULL", scope.access.seen].compactMap(\.self)
                let readable = try await transaction.query(
                    "SELECT FROM \(try scope.table) WHERE \(conditions.joined(separator: " AND "))")
                guard !readable.isEmpty else { return nil }
                let isOfUser: PostgresQuery = """
                    collection = \(scope.collection.text) AND object = \(object.text) AND reporter = \(user)
                    """
                let known = try await transaction.query("SELECT \(Self.columns) FROM \(table) WHERE \(isOfUser)")
                if let row = known.first { return (try Self.report(row), false) }
                try await checkLimit(of: user, table, transaction)
                let rows = try await transaction.query(
                    """
                    INSERT INTO \(table) (id, collection, object, reporter, reason)
                    VALUES (\(UUID(uuidString: UUIDv7.make()) ?? UUID()), \(scope.collection.text), \(object.text), \(user), \(reason))
                    ON CONFLICT ON CONSTRAINT _reports_once DO NOTHING RETURNING \(Self.columns)
                    """)
                if let row = rows.first { return (try Self.report(row), true) }
                // The same user has just reported it in another request.
                let other = try await transaction.query("SELECT \(Self.columns) FROM \(table) WHERE \(isOfUser)")
                return try other.first.map { (try Self.report($0), false) }
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            return nil
        }
    }

    private func checkLimit(of user: String, _ table: PostgresIdentifier, _ transaction: PostgresTransaction)
        async throws
    {
        let count: Int = try await transaction.query(
            "SELECT count(*) FROM \(table) WHERE reporter = \(user) AND created > now() - interval '1 day'")[0].decode(
                0)
        guard count < Self.maximumPerDay else {
            throw ServiceError(
                .tooManyRequests, "A user may report \(Self.maximumPerDay) objects a day.", retryAfter: 3_600)
        }
    }

    /// Oldest first.
    func list(_ page: Page, of space: AppSchema) async throws -> [Report] {
        let collection: PostgresQuery = page.collection.map { "AND collection = \($0.text)" } ?? ""
        let position: PostgresQuery = page.after.map { "AND id > \($0)" } ?? ""
        let state: PostgresQuery = page.isResolved ? "IS NOT NULL" : "IS NULL"
        return try await spaces.query(
            """
            SELECT \(Self.columns) FROM \(try space.own("_reports")) WHERE resolved \(state) \(collection) \(position)
            ORDER BY id LIMIT \(page.limit)
            """, in: space, on: postgres
        ).map(Self.report)
    }

    /// Resolves a report and every other open report of the same object; returns their number, or nil if there is no
    /// such report. Idempotent.
    func resolve(_ id: UUID, _ resolution: String, of space: AppSchema) async throws -> Int? {
        let table = try space.own("_reports")
        let rows = try await spaces.query(
            """
            WITH target AS (SELECT collection, object FROM \(table) WHERE id = \(id)),
            changed AS (
                UPDATE \(table) AS r SET resolved = now(), resolution = \(resolution) FROM target
                WHERE r.collection = target.collection AND r.object = target.object AND r.resolved IS NULL RETURNING 1)
            SELECT (SELECT count(*) FROM changed) FROM target
            """, in: space, on: postgres)
        return try rows.first?.decode(0)
    }
}
