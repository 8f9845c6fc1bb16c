import MartletAPI
import MartletCore
public import MartletPostgres

/// The rules for live data that allow something to anyone who has the app. Only environments that are closed by default
/// are searched. `martlet doctor` shows them.
public struct OpenRules: Sendable {
    /// The number of collections with such rules.
    public private(set) var numberOfCollections = 0
    /// The first of them, such as `shop Posts.rules.find`.
    public private(set) var places: [String] = []

    /// Checks the rules of every app.
    ///
    /// - Parameters:
    ///   - postgres: A client that may read every space.
    ///   - limit: The maximum number of `places`.
    public static func find(on postgres: PostgresClient, upTo limit: Int) async throws -> OpenRules {
        let schemas = try await postgres.query(
            "SELECT schema FROM storage.spaces WHERE access IS DISTINCT FROM 'open' AND schema !~ '_test$' ORDER BY schema"
        ).map { try $0.decode(0, as: String.self) }
        var found = OpenRules()
        for schema in schemas {
            guard let collections = PostgresIdentifier(schema: schema, name: "_collections") else { continue }
            do {
                // Only these rules can name everybody, because an entry with a condition is stored with its "who".
                var query: PostgresQuery =
                    "SELECT name, rules::text FROM \(collections) WHERE rules::text LIKE '%\"*\"%' ORDER BY name"
                query.isPrepared = false
                try found.add(try await postgres.query(query), of: String(schema.dropFirst(4)), upTo: limit)
            } catch let error as PostgresError where error.isUndefinedTable {
                // The app was deleted meanwhile, or has stored nothing yet.
                continue
            }
        }
        return found
    }

    private mutating func add(_ rows: PostgresRows, of app: String, upTo limit: Int) throws {
        for row in rows {
            // Rules that cannot be read close their collection.
            guard let collection = try? CollectionName(row.decode(0, as: String.self)),
                let rules = try? CollectionRules(JSONValue(parsing: row.decode(1, as: String.self).utf8))
            else { continue }
            let warnings = RuleReport(rules: rules, spaceAccess: .closed).warnings(in: collection)
            guard !warnings.isEmpty else { continue }
            numberOfCollections += 1
            places += warnings.prefix(limit - places.count).map { "\(app) \($0.place)" }
        }
    }
}
