import MartletAPI
import MartletCore
import MartletPostgres

/// Reads objects by id, and members of relations, for Martlet's own processes, which rights do not restrict.
struct ObjectLookUp: Sendable {
    static let maximumCollections = 20
    /// The limit for all relations of one call together.
    static let maximumMembers = 10_000
    static let maximumSizeInBytes = 8 << 20

    let postgres: PostgresClient
    let spaces: Spaces

    struct Object: Sendable {
        var collection: CollectionName
        var id: String
        /// The requested top-level fields; nil for all.
        var keys: [String]?
    }

    struct Relation: Sendable {
        var collection: CollectionName
        var id: String
        var field: String
    }

    private struct Kind: Hashable {
        var collection: CollectionName
        var keys: [String]?
    }

    /// The JSON texts in the order of the request; nil for missing objects.
    ///
    /// - Throws: `limit-exceeded` beyond `maximumCollections` and `maximumSizeInBytes`.
    func objects(_ requested: [Object], in space: AppSchema) async throws -> [String?] {
        let groups = Dictionary(grouping: requested.indices) {
            Kind(collection: requested[$0].collection, keys: requested[$0].keys)
        }
        guard groups.count <= Self.maximumCollections else {
            throw ServiceError(.limitExceeded, "At most \(Self.maximumCollections) collections may be read at once.")
        }
        var found = [String?](repeating: nil, count: requested.count)
        var size = 0
        for (kind, places) in groups {
            let texts = try await texts(of: Array(Set(places.map { requested[$0].id })), kind, in: space)
            for place in places { found[place] = texts[requested[place].id] }
            size += places.reduce(0) { $0 + (found[$1]?.utf8.count ?? 0) }
            guard size <= Self.maximumSizeInBytes else {
                throw ServiceError(.limitExceeded, "These objects are too large to be read in one call.")
            }
        }
        return found
    }

    private func texts(of ids: [String], _ kind: Kind, in space: AppSchema) async throws -> [String: String] {
        var statement: PostgresQuery = """
            SELECT id, CASE WHEN sum(octet_length(object)) OVER () <= \(Self.maximumSizeInBytes) THEN object END
            FROM (
                SELECT id, \(Rendering.object(.master, keys: kind.keys)) AS object FROM \(try space.table(kind.collection))
                WHERE id = ANY (\(ids)) AND deleted IS NULL OFFSET 0) AS found
            """
        // The statement differs for each set of collections, so preparing it would not pay off.
        statement.isPrepared = false
        do {
            return try await spaces.query(statement, in: space, on: postgres).reduce(into: [:]) { texts, row in
                guard let text = try row.decode(1, as: String?.self) else {
                    throw ServiceError(.limitExceeded, "These objects are too large to be read in one call.")
                }
                texts[try row.decode(0)] = text
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            return [:]
        }
    }

    /// The ids of each relation's members, sorted, in the order of the request.
    ///
    /// - Throws: `limit-exceeded` beyond `maximumMembers`.
    func members(of requested: [Relation], in space: AppSchema) async throws -> [[String]] {
        guard !requested.isEmpty else { return [] }
        let rows = try await spaces.query(
            """
            SELECT requested.place, r.related
            FROM unnest(\(requested.map(\.collection.text)), \(requested.map(\.id)), \(requested.map(\.field))) WITH ORDINALITY AS requested (collection, owner, key, place)
            JOIN \(try space.own("_relations")) AS r ON r.collection = requested.collection AND r.owner = requested.owner AND r.key = requested.key
            ORDER BY requested.place, r.related LIMIT \(Self.maximumMembers + 1)
            """, in: space, on: postgres)
        guard rows.count <= Self.maximumMembers else {
            throw ServiceError(.limitExceeded, "These relations have too many members.")
        }
        var members = [[String]](repeating: [], count: requested.count)
        for row in rows { members[try row.decode(0, as: Int.self) - 1].append(try row.decode(1)) }
        return members
    }
}
