import MartletAPI
import MartletCore
import MartletPostgres

/// A statement that reads objects, with the properties needed to run it.
protocol ReadStatement {
    var sql: PostgresQuery { get }
    /// The collections that it reads besides its own.
    var others: Set<CollectionName> { get }
    /// Whether it may take long for a single object.
    var isCostly: Bool { get }
}

struct Statement: ReadStatement {
    var sql: PostgresQuery
    var others: Set<CollectionName>
    var isCostly = false

    init(_ sql: PostgresQuery, others: Set<CollectionName>, isCostly: Bool = false) {
        self.sql = sql
        self.others = others
        self.isCostly = isCostly
    }
}

/// The JSON form in which an object is shown: the requested fields without hidden ones, with included objects.
struct Shown {
    let object: PostgresQuery
    let collections: Set<CollectionName>

    init(_ query: ListQuery, in scope: QueryScope, known: [String: RightsStore.Collection]) throws {
        let access = scope.access
        guard !query.include.isEmpty || !query.excludedKeys.isEmpty else {
            object = Rendering.object(access, keys: query.keys)
            collections = []
            return
        }
        var document = access.visible()
        if !query.excludedKeys.isEmpty { document = "(\(document) - \(query.excludedKeys))" }
        var inclusion = Inclusion(scope: scope, known: known)
        document = try inclusion.document(document, of: scope, query.include)
        object = Rendering.object(document, keys: query.keys)
        collections = inclusion.collections
    }
}

/// The statement of a list. Cell 0 is the count, cell 1 the objects' texts joined by commas (NULL if too large), and
/// for lists with cursors cell 2 is the end of the page (NULL if nothing follows).
struct ListStatement: ReadStatement {
    private(set) var sql: PostgresQuery
    let others: Set<CollectionName>
    let isCostly: Bool

    init(_ query: ListQuery, in scope: QueryScope, known: [String: RightsStore.Collection]) throws {
        let access = scope.access
        let table = try scope.table
        let filter = try query.filter(in: scope)
        let shown = try Shown(query, in: scope, known: known)
        others = shown.collections.union(filter?.collections ?? []).subtracting([scope.collection])
        isCostly = filter?.isCostly ?? false
        let isServed = filter?.isServed ?? false
        let condition = Self.condition(query, filter, access.readable(for: .find)) + (isServed ? Self.rare : "")
        let both = [access.readable(for: .find), access.readable(for: .count)].compactMap(\.self)
        let counted = Self.condition(query, filter, both.isEmpty ? nil : both.joined(separator: " AND "))
        let total: PostgresQuery = query.wantsTotal ? "(SELECT count(*) FROM \(table) WHERE \(counted))" : "count(*)"
        let limit = scope.pageSizeInBytes
        let texts: PostgresQuery = """
            CASE WHEN max(size) > \(limit) THEN NULL
                ELSE coalesce(string_agg(object, ',') FILTER (WHERE size <= \(limit)), '') END
            """
        guard let cursor = query.cursor else {
            let order = query.order.map(ListOrder.sql) ?? filter?.order.map { "\($0), id" } ?? "id"
            let page = Self.page(
                shown, isLate: !query.include.isEmpty,
                "FROM \(table) WHERE \(condition) ORDER BY \(order) LIMIT \(query.limit) OFFSET \(query.skip)")
            sql = """
                SELECT \(total),
                    \(texts)
                FROM (
                    SELECT object, sum(octet_length(object)) OVER (ROWS UNBOUNDED PRECEDING) AS size
                    FROM (
                        \(page)) AS page) AS sized
                """
            sql.isPrepared = !isServed
            return
        }
        guard query.order != nil || filter?.order == nil else {
            throw ServiceError(
                .invalidParameter, "A cursor requires an order by fields, not by distance.", field: "cursor")
        }
        let keys = query.completeOrder
        let rows = try Self.rows(from: cursor, keys, "FROM \(table) WHERE \(condition)", limit: query.limit)
        sql = """
            SELECT \(total),
                \(texts),
                CASE WHEN count(*) = \(query.limit) AND count(*) > 0 THEN (array_agg(position))[count(*)] END
            FROM (
                SELECT object, position, sum(octet_length(object)) OVER (ROWS UNBOUNDED PRECEDING) AS size
                FROM (
                    SELECT \(shown.object) AS object, \(Cursor.position(keys)) AS position
                    FROM (\(rows)) AS page) AS shown) AS sized
            """
        sql.isPrepared = !isServed
    }

    /// Always true, but PostgreSQL's planner estimates that it matches one row in 200.
    ///
    /// PostgreSQL cannot know how many objects a filter on documents matches. Without the values it assumes 1 %; with
    /// them it does the same whenever one of its 100 sampled documents matches. It would then scan all objects in the
    /// order of the list, expecting to find 100 matches sooner than with an index: 0.7 s for a million objects, where
    /// the index takes 2 ms. This condition lowers the estimate, and each such statement is planned for its values. A
    /// filter that matches more than about 3 % still results in the scan.
    static let rare: PostgresQuery = " AND octet_length(id) BETWEEN 0 AND 1000"

    /// Looks up included objects only for the rows of the page, whatever the plan.
    private static func page(_ shown: Shown, isLate: Bool, _ rows: PostgresQuery) -> PostgresQuery {
        isLate
            ? "SELECT \(shown.object) AS object FROM (SELECT * \(rows)) AS page"
            : "SELECT \(shown.object) AS object \(rows)"
    }

    /// The page after the cursor: up to a page of rows from each of the cursor's branches, merged in order.
    private static func rows(from cursor: Cursor?, _ keys: [OrderKey], _ source: PostgresQuery, limit: Int) throws
        -> PostgresQuery
    {
        let tail: PostgresQuery = " ORDER BY \(ListOrder.sql(keys)) LIMIT \(limit)"
        guard let cursor else { return "SELECT * \(source)\(tail)" }
        let branches = try cursor.branches(keys).map { "(SELECT * \(source) AND \($0)\(tail))" as PostgresQuery }
        if branches.count == 1 { return branches[0] }
        return "SELECT * FROM (\(branches.joined(separator: " UNION ALL "))) AS branch\(tail)"
    }

    private static func condition(_ query: ListQuery, _ filter: Filter?, _ readable: PostgresQuery?) -> PostgresQuery {
        let parts = [query.includesDeleted ? nil : "deleted IS NULL" as PostgresQuery, readable, filter?.condition]
            .compactMap(\.self)
        return parts.isEmpty ? "TRUE" : parts.joined(separator: " AND ")
    }
}
