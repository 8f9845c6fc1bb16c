import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres

/// Where the rules of collections are set.
struct RulesStore: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore
    let rights: RightsStore

    /// - Throws: `collection-not-found`.
    func read(_ collection: CollectionName, of space: AppSpace) async throws -> CollectionRules {
        rights.forget(space)
        guard let known = try await rights.collections(of: space)[collection.text] else { throw HTTPProblem(.collectionNotFound) }
        return known.rules
    }

    func set(_ rules: CollectionRules, on collection: CollectionName, of space: AppSpace) async throws {
        try await collections.create(collection, of: space)
        let encoded = PostgresJSON(Array(try JSONEncoder().encode(rules)))
        let table = try space.own("_collections")
        try await postgres.withTransaction(role: space.role) { transaction in
            try await transaction.execute(
                """
                INSERT INTO \(table) (name, rules) VALUES (\(collection.text), \(encoded))
                ON CONFLICT (name) DO UPDATE SET rules = excluded.rules
                """)
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
        rights.forget(space)
    }
}
