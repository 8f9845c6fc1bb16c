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

    /// The whole object, without hidden fields.
    init(in scope: QueryScope) {
        object = Rendering.object(scope.access)
        collections = []
    }

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
        let source = try Source(query, filter, access, table: table, known[scope.collection.text])
        let both = [access.readable(for: .find), access.readable(for: .count)].compactMap(\.self)
        let counted = Self.condition(query, filter?.condition, both.isEmpty ? nil : both.joined(separator: " AND "))
        let total: PostgresQuery = query.countsAll ? "(SELECT count(*) FROM \(table) WHERE \(counted))" : "count(*)"
        let limit = scope.pageSizeInBytes
        let texts: PostgresQuery = """
            CASE WHEN max(size) > \(limit) THEN NULL
                ELSE coalesce(string_agg(object, ',') FILTER (WHERE size <= \(limit)), '') END
            """
        guard let cursor = query.cursor else {
            let order = query.order.map(ListOrder.sql) ?? filter?.order.map { "\($0), id" } ?? "id"
            let page = source.page(query, shown, order: order)
            sql = """
                SELECT \(total),
                    \(texts)
                FROM (
                    SELECT object, sum(octet_length(object)) OVER (ROWS UNBOUNDED PRECEDING) AS size
                    FROM (
                        \(page)) AS page) AS sized
                """
            sql.isPlannedForValues = source.isPlannedForValues
            return
        }
        guard query.order != nil || filter?.order == nil else {
            throw ServiceError(
                .invalidParameter, "A cursor requires an order by fields, not by distance.", field: "cursor")
        }
        let keys = query.completeOrder
        let rows = try source.rows(from: cursor, keys, limit: query.limit)
        sql = """
            SELECT \(total),
                \(texts),
                CASE WHEN count(*) = \(query.limit) AND count(*) > 0 THEN (array_agg(position))[count(*)] END
            FROM (
                SELECT object, position, sum(octet_length(object)) OVER (ROWS UNBOUNDED PRECEDING) AS size
                FROM (
                    SELECT \(shown.object) AS object, \(Cursor.position(keys)) AS position
                    FROM (\(rows)) AS page\(Source.once)) AS shown) AS sized
            """
        sql.isPlannedForValues = source.isPlannedForValues
    }

    /// Always true, but PostgreSQL's planner estimates that it matches one row in 200.
    ///
    /// PostgreSQL cannot know how many objects a filter on documents matches. Without the values it assumes 1 %, and
    /// with them it assumes at least 1 % whenever one of its 100 sampled documents matches. It would then scan all
    /// objects in the order of the list, expecting to find 100 matches sooner than with an index. For a million objects
    /// that scan takes 0.7 s and the index 2 ms. This condition lowers the estimate, and each such statement is planned
    /// for its values. A filter that matches more than about 3 % still results in the scan.
    static let rare: PostgresQuery = " AND octet_length(id) BETWEEN 0 AND 1000"

    static func condition(_ query: ListQuery, _ filter: PostgresQuery?, _ readable: PostgresQuery?) -> PostgresQuery {
        let parts = [query.includesDeleted ? nil : "deleted IS NULL" as PostgresQuery, readable, filter]
            .compactMap(\.self)
        return parts.isEmpty ? "TRUE" : parts.joined(separator: " AND ")
    }
}

/// The rows of a list, before their order and page: one `FROM … WHERE …`, or several without common rows.
private struct Source {
    /// The limit for all branches of an index and of a cursor together.
    private static let maximumBranches = 32
    /// Keeps PostgreSQL from merging a subquery into the outer one, which uses each object's text twice and would then
    /// render it twice. That took a third of the time of a page.
    static let once: PostgresQuery = " OFFSET 0"

    private let whole: PostgresQuery
    /// Empty if no index supports the filter and order (`IndexBranches`).
    private let branches: [PostgresQuery]
    /// Whether the plan depends on the values.
    let isPlannedForValues: Bool
    /// Whether one plan is the best for all values: the rows are read in the order of an index, after the values that
    /// an equality requires, if there is one. PostgreSQL keeps such a plan if it also knows the limit, which saves more
    /// than half of its time. With a rule's condition, or with other parts of the filter, another index may be better
    /// for some values. So it may be if the equality is with elements of arrays, of which many may have a frequent one.
    private let hasOnePlan: Bool

    init(
        _ query: ListQuery, _ filter: Filter?, _ access: Access, table: PostgresIdentifier,
        _ collection: RightsStore.Collection?
    ) throws {
        let readable = access.readable(for: .find)
        func from(_ condition: PostgresQuery?, isIndexed: Bool) -> PostgresQuery {
            "FROM \(table) WHERE \(ListStatement.condition(query, condition, readable))\(isIndexed ? ListStatement.rare : "")"
        }
        let isWholeIndexed = filter?.isIndexed ?? false
        let cursorBranches = try query.cursor?.map { try $0.branches(query.completeOrder).count } ?? 1
        whole = from(filter?.condition, isIndexed: isWholeIndexed)
        guard let filter, filter.order == nil || query.order != nil,
            let used = IndexBranches(filter, order: query.completeOrder, indexes: collection?.ordered ?? []),
            used.conditions.count * cursorBranches <= Self.maximumBranches
        else {
            branches = []
            isPlannedForValues = isWholeIndexed
            hasOnePlan = filter == nil && access.allowedByRules(for: .find) == nil
            return
        }
        let isIndexed = filter.isIndexed(used.others.flatMap(\.uses))
        branches = used.conditions.map { condition in
            from(([condition] + used.others.map(\.condition)).joined(separator: " AND "), isIndexed: isIndexed)
        }
        isPlannedForValues = isIndexed
        hasOnePlan =
            !isIndexed && used.others.isEmpty && access.allowedByRules(for: .find) == nil
            && !used.equal.contains { Self.mayHaveArrays($0, in: collection) }
    }

    /// The types of nested fields are not known.
    private static func mayHaveArrays(_ path: FieldPath, in collection: RightsStore.Collection?) -> Bool {
        guard path.parts.count == 1, let types = collection?.fields[FieldName(path.parts[0])] else { return true }
        return types.contains { $0.hasPrefix("Array") }
    }

    /// The number of rows to read; as a part of the text if it does not change from page to page.
    private func limit(_ limit: Int, after skip: Int = 0) -> PostgresQuery {
        hasOnePlan && skip == 0 ? "\(literal: limit)" : "\(skip + limit)"
    }

    /// Selects the objects of a page by `skip`. Looks up included objects only for its rows, whatever the plan.
    func page(_ query: ListQuery, _ shown: Shown, order: PostgresQuery) -> PostgresQuery {
        let offset: PostgresQuery = query.skip == 0 ? "" : " OFFSET \(query.skip)"
        let page: PostgresQuery = " ORDER BY \(order) LIMIT \(limit(query.limit))\(offset)"
        guard branches.isEmpty else {
            let read = branches.map {
                "(SELECT * \($0) ORDER BY \(order) LIMIT \(limit(query.limit, after: query.skip)))" as PostgresQuery
            }
            let rows = read.joined(separator: " UNION ALL ")
            return
                "SELECT \(shown.object) AS object FROM (SELECT * FROM (\(rows)) AS branch\(page)) AS page\(Self.once)"
        }
        return query.include.isEmpty
            ? "SELECT \(shown.object) AS object \(whole)\(page)"
            : "SELECT \(shown.object) AS object FROM (SELECT * \(whole)\(page)) AS page\(Self.once)"
    }

    /// The page after the cursor: up to a page of rows from each branch of the index and of the cursor, in order.
    func rows(from cursor: Cursor?, _ keys: [OrderKey], limit: Int) throws -> PostgresQuery {
        let tail: PostgresQuery = " ORDER BY \(ListOrder.sql(keys)) LIMIT \(self.limit(limit))"
        let after = try cursor.map { try $0.branches(keys).map { " AND \($0)" as PostgresQuery } } ?? [""]
        let read = (branches.isEmpty ? [whole] : branches).flatMap { source in
            after.map { "(SELECT * \(source)\($0)\(tail))" as PostgresQuery }
        }
        if read.count == 1 { return read[0] }
        return "SELECT * FROM (\(read.joined(separator: " UNION ALL "))) AS branch\(tail)"
    }
}
