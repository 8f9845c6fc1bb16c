import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The history of collections' rules.
struct RuleVersions: Sendable {
    /// Older versions are deleted.
    static let maximumVersions = 100

    struct Version: Sendable {
        var number: Int
        var at: Date
        /// The kind and id of the credential, such as `master:…`; nil for rules from before versions were kept.
        var author: String?

        var json: JSONValue {
            .object(
                [
                    JSONValue.Member("number", .number(String(number))),
                    JSONValue.Member("at", .string(at.rfc3339)),
                    author.map { JSONValue.Member("author", .string($0)) },
                ].compactMap(\.self))
        }
    }

    let postgres: PostgresClient
    let spaces: Spaces

    /// All versions, newest first.
    ///
    /// - Throws: `collection-not-found`.
    func list(of collection: CollectionName, in space: AppSchema) async throws -> [Version] {
        let rows = try await spaces.query(
            """
            SELECT v.number, v.at, v.author FROM \(try space.own("_collections")) AS c
            LEFT JOIN \(try space.own("_rule_versions")) AS v ON v.collection = c.name
            WHERE c.name = \(collection.text) ORDER BY v.number DESC
            """, in: space, on: postgres)
        guard !rows.isEmpty else { throw ServiceError(.collectionNotFound) }
        return try rows.compactMap { row in
            guard let number = try row.decode(0, as: Int?.self) else { return nil }
            return Version(number: number, at: try row.decode(1), author: try row.decode(2))
        }
    }

    /// - Throws: `version-not-found`.
    func read(
        _ number: Int, of collection: CollectionName, in space: AppSchema
    ) async throws -> (version: Version, rules: JSONValue) {
        let rows = try await spaces.query(
            """
            SELECT number, at, author, rules::text FROM \(try space.own("_rule_versions"))
            WHERE collection = \(collection.text) AND number = \(number)
            """, in: space, on: postgres)
        guard let row = rows.first else { throw ServiceError(.versionNotFound) }
        return (
            Version(number: number, at: try row.decode(1), author: try row.decode(2)),
            try JSONValue(parsing: row.decode(3, as: String.self).utf8)
        )
    }

    /// Appends the rules that the transaction has just stored as a new version. If the rules that it replaced are in no
    /// version, they are appended first. The transaction holds the lock of the collection's row.
    static func append(
        _ rules: PostgresJSON, replacing former: PostgresJSON?, of collection: CollectionName, in space: AppSchema,
        by author: String, _ transaction: PostgresTransaction
    ) async throws {
        let versions = try space.own("_rule_versions")
        if let former {
            try await transaction.execute(
                """
                INSERT INTO \(versions) (collection, number, rules) SELECT \(collection.text), 1, \(former)
                WHERE NOT EXISTS (SELECT FROM \(versions) WHERE collection = \(collection.text))
                """)
        }
        try await transaction.execute(
            """
            INSERT INTO \(versions) (collection, number, author, rules)
            SELECT \(collection.text), coalesce(max(number), 0) + 1, \(author), \(rules) FROM \(versions)
            WHERE collection = \(collection.text)
            """)
        try await transaction.execute(
            """
            DELETE FROM \(versions) WHERE collection = \(collection.text) AND number <= (
                SELECT max(number) - \(Self.maximumVersions) FROM \(versions) WHERE collection = \(collection.text))
            """)
    }
}

extension Principal {
    /// Who did something, as versions record it.
    var author: String { "\(kind.rawValue):\(credentialID)" }
}
