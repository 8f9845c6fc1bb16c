import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import NIOCore

/// Reports of objects, and the queue of them for the app's moderators.
struct ReportStore: Sendable {
    static let maximumTextInBytes = 1_000
    static let maximumPerDay = 100
    /// Open reports are kept until they are resolved, with their copies.
    static let maximumOpenPerUser = 500
    /// The size of the largest object that is copied.
    static let maximumCopyInBytes = 64 << 10
    /// How long a resolved report is kept.
    static let retentionInDays: Int32 = 90

    let postgres: PostgresClient
    let spaces: Spaces
    let objects: ObjectStore

    /// What a moderator does with a reported object.
    enum Action: String, Sendable, CaseIterable {
        /// Only the app's server can then read or change it, because its lists of readers and writers are empty.
        case hide
        /// Gives a hidden object the lists that it had before.
        case restore
    }

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

    /// The copy of the object that a report keeps.
    private static let copy: PostgresQuery = """
        CASE WHEN octet_length(doc::text) <= \(maximumCopyInBytes) THEN doc || jsonb_strip_nulls(jsonb_build_object(
            'updated', \(PostgresQuery.rfc3339("updated")), '_version', version, '_readers', readers, '_writers', writers)) END
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
    /// - Throws: `too-many-requests` beyond `maximumPerDay`; `limit-exceeded` beyond `maximumOpenPerUser`.
    func add(_ reason: String, on object: ObjectID, by user: String, in scope: QueryScope) async throws
        -> (report: Report, isNew: Bool)?
    {
        let (space, table) = (scope.space, try scope.space.own("_reports"))
        try await spaces.prepare(space)
        do {
            return try await postgres.withTransaction(role: space.role) { transaction in
                let readable = scope.readable(object)
                guard try await !transaction.query("SELECT FROM \(try scope.table) WHERE \(readable)").isEmpty else {
                    return nil
                }
                let isOfUser: PostgresQuery = """
                    collection = \(scope.collection.text) AND object = \(object.text) AND reporter = \(user)
                    """
                let known = try await transaction.query("SELECT \(Self.columns) FROM \(table) WHERE \(isOfUser)")
                if let row = known.first { return (try Self.report(row), false) }
                try await checkLimits(of: user, table, transaction)
                let rows = try await transaction.query(
                    """
                    INSERT INTO \(table) (id, collection, object, reporter, reason, copy)
                    SELECT \(UUID(uuidString: UUIDv7.make()) ?? UUID()), \(scope.collection.text), \(object.text),
                        \(user), \(reason), \(Self.copy)
                    FROM \(try scope.table) WHERE \(readable)
                    ON CONFLICT ON CONSTRAINT _reports_once DO NOTHING RETURNING \(Self.columns)
                    """)
                if let row = rows.first { return (try Self.report(row), true) }
                // The same user has just reported it in another request, unless the object has just been deleted.
                let other = try await transaction.query("SELECT \(Self.columns) FROM \(table) WHERE \(isOfUser)")
                return try other.first.map { (try Self.report($0), false) }
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            return nil
        }
    }

    /// Locks out other reports of the same user, so that each counts those before it.
    private func checkLimits(of user: String, _ table: PostgresIdentifier, _ transaction: PostgresTransaction)
        async throws
    {
        try await transaction.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(\(table.quoted + user), 0))")
        let row = try await transaction.query(
            """
            SELECT count(*) FILTER (WHERE created > now() - interval '1 day'), count(*) FILTER (WHERE resolved IS NULL)
            FROM \(table) WHERE reporter = \(user)
            """)[0]
        guard try row.decode(1, as: Int.self) < Self.maximumOpenPerUser else {
            throw ServiceError(
                .limitExceeded,
                "A user may have at most \(Self.maximumOpenPerUser) reports that no moderator has resolved yet.")
        }
        guard try row.decode(0, as: Int.self) < Self.maximumPerDay else {
            throw ServiceError(
                .tooManyRequests, "A user may report \(Self.maximumPerDay) objects a day.", retryAfter: 3_600)
        }
    }

    /// The JSON text of a report with the `copy`; nil if there is none.
    func read(_ id: UUID, of space: AppSchema) async throws -> String? {
        try await spaces.query(
            """
            SELECT (jsonb_strip_nulls(jsonb_build_object('id', id, 'collection', collection, 'object', object, 'reporter', reporter,
                'reason', reason, 'created', \(PostgresQuery.rfc3339("created")), 'resolved', \(PostgresQuery.rfc3339("resolved")),
                'resolution', resolution)) || CASE WHEN copy IS NULL THEN '{}' ELSE jsonb_build_object('copy', copy) END)::text
            FROM \(try space.own("_reports")) WHERE id = \(id)
            """, in: space, on: postgres
        ).first.map { try $0.decode(0) }
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

    /// Resolves a report and every other open report of the same object, and acts on the object; both happen or
    /// neither. Returns how many reports were open, or nil if there is no such report. Idempotent.
    ///
    /// - Throws: `object-not-found`, `conflict`, `forbidden`: the object cannot be hidden or restored.
    func resolve(_ id: UUID, _ resolution: String, _ action: Action?, of space: AppSchema) async throws -> Int? {
        let table = try space.own("_reports")
        try await spaces.prepare(space)
        let count = try await postgres.withTransaction(role: space.role, serializationRetries: 3) {
            transaction -> Int? in
            let reported = try await transaction.query("SELECT collection, object FROM \(table) WHERE id = \(id)")
            guard let report = reported.first else { return nil }
            let collection = try CollectionName(report.decode(0, as: String.self))
            let object = try ObjectID(report.decode(1, as: String.self))
            if let action {
                let scope = QueryScope(space: space, collection: collection, rights: .master)
                try await carryOut(action, on: object, in: scope, transaction)
            }
            return try await transaction.execute(
                """
                UPDATE \(table) SET resolved = now(), resolution = \(resolution)
                WHERE collection = \(collection.text) AND object = \(object.text) AND resolved IS NULL
                """)
        }
        objects.signal.written(in: space)
        return count
    }

    /// Does nothing if the object is already hidden, or already visible. Removed objects can be hidden, too, because
    /// clients could otherwise read or restore them.
    private func carryOut(
        _ action: Action, on object: ObjectID, in scope: QueryScope, _ transaction: PostgresTransaction
    ) async throws {
        try scope.access.require(.update)
        let found = try await transaction.query(
            """
            SELECT coalesce(readers = '{}' AND writers = '{}', FALSE),
                jsonb_build_object('_readers', readers, '_writers', writers)::text
            FROM \(try scope.table) WHERE id = \(object.text) FOR UPDATE
            """)
        guard let row = found.first else { throw ServiceError(.objectNotFound) }
        let (isHidden, present) = (try row.decode(0, as: Bool.self), try row.decode(1, as: String.self))
        guard isHidden == (action == .restore) else { return }
        let lists: String
        switch action {
        case .hide:
            try await keep(PostgresJSON(present), of: object, scope, transaction)
            lists = #"{"_readers":[],"_writers":[]}"#
        case .restore:
            lists = try await keptLists(of: object, scope, transaction)
            try await keep(nil, of: object, scope, transaction)
        }
        let written = try await objects.within(transaction).change(
            object, by: try Document(ByteBuffer(string: lists)), if: nil, includingRemoved: true, in: scope)
        guard written != nil else { throw ServiceError(.objectNotFound) }
    }

    /// Stores the former lists in all reports of the object, because a report is deleted when its reporter's account
    /// is.
    private func keep(
        _ lists: PostgresJSON?, of object: ObjectID, _ scope: QueryScope, _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            UPDATE \(try scope.space.own("_reports")) SET hidden = \(lists)
            WHERE collection = \(scope.collection.text) AND object = \(object.text)
            """)
    }

    private func keptLists(of object: ObjectID, _ scope: QueryScope, _ transaction: PostgresTransaction) async throws
        -> String
    {
        let rows = try await transaction.query(
            """
            SELECT hidden::text FROM \(try scope.space.own("_reports"))
            WHERE collection = \(scope.collection.text) AND object = \(object.text) AND hidden IS NOT NULL LIMIT 1
            """)
        guard let row = rows.first else {
            throw ServiceError(
                .conflict, "The object's former readers and writers are unknown. Set them with a PATCH of the object.")
        }
        return try row.decode(0)
    }
}
