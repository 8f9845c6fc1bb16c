import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Published versions of documents, which are immutable.
struct VersionStore: Sendable {
    let postgres: PostgresClient

    /// Why a version was made. The raw value appears in the database.
    enum Origin: String, Sendable {
        case publish, rollback, promote, schedule, `import`
    }

    /// Versions without their contents as JSON objects, newest first, starting before `before`.
    func list(_ key: DocumentKey, in space: AppSpace, before: Int?, limit: Int) async throws -> [(
        version: Int, json: String
    )] {
        let rows = try await postgres.query(
            """
            SELECT v.version, \(Self.json()) \(Self.source(key, space)) AND v.version < \(Int32(clamping: before ?? .max))
            ORDER BY v.version DESC LIMIT \(limit)
            """)
        return try rows.map { (Int(try $0.decode(0, as: Int32.self)), try $0.decode(1)) }
    }

    /// A version and its content as JSON objects; nil if there is none.
    func read(_ version: Int, of key: DocumentKey, in space: AppSpace) async throws -> (
        json: String, content: String
    )? {
        try await postgres.query(
            "SELECT \(Self.json()), v.content \(Self.source(key, space)) AND v.version = \(Int32(clamping: version))"
        ).first
            .map { (try $0.decode(0), try $0.decode(1)) }
    }

    // MARK: In a transaction

    static func content(_ version: Int, of key: DocumentKey, in space: AppSpace, _ transaction: PostgresTransaction)
        async throws -> String?
    {
        try await transaction.query(
            "SELECT v.content \(source(key, space)) AND v.version = \(Int32(clamping: version))"
        ).first?.decode(0)
    }

    /// The pinned versions that do not exist.
    static func missing(_ pins: [PinnedVersion], in space: AppSpace, _ transaction: PostgresTransaction) async throws
        -> [PinnedVersion]
    {
        var missing: [PinnedVersion] = []
        for pin in pins {
            let rows = try await transaction.query(
                "SELECT 1 \(source(pin.key, space)) AND v.version = \(Int32(clamping: pin.version))")
            if rows.isEmpty { missing.append(pin) }
        }
        return missing
    }

    /// Adds the next version of a document and makes it live. Runs in a transaction that holds the locks of the space
    /// and the document.
    ///
    /// - Returns: The version as JSON. Content that is already live does not make a new version.
    static func add(
        _ content: String, pins: [PinnedVersion], to document: DocumentStore.Document, of key: DocumentKey,
        in space: AppSpace, _ origin: Origin,
        source: Int? = nil, note: String, by author: Author, _ transaction: PostgresTransaction
    ) async throws -> (version: Int, json: String) {
        if let live = document.liveVersion, try await self.content(live, of: key, in: space, transaction) == content {
            return (
                live,
                try await transaction.query(
                    "SELECT \(json(isNew: false)) \(self.source(key, space)) AND v.version = \(Int32(live))")[0].decode(
                        0)
            )
        }
        let version = document.lastVersion + 1
        let sha256 = Credential.hexDigest(of: content)
        let pins = PostgresJSON(JSONValue.array(pins.map(\.json)).text)
        try await transaction.execute(
            """
            INSERT INTO config.versions (document_id, version, content, sha256, pins, note, author, origin, source_version, created)
            VALUES (\(document.id), \(Int32(version)), \(content), \(sha256), \(pins), \(note), \(author.text), \(origin.rawValue),
                \(source.map { Int32($0) }), clock_timestamp())
            """)
        try await transaction.execute(
            "UPDATE config.documents SET last_version = \(Int32(version)), live_version = \(Int32(version)), live_since = now() WHERE id = \(document.id)"
        )
        try await announce(space, transaction)
        return (
            version,
            try await transaction.query(
                "SELECT \(json()) \(self.source(key, space)) AND v.version = \(Int32(version))")[0].decode(0)
        )
    }

    /// Withdraws a document's live version.
    static func withdraw(_ document: DocumentStore.Document, in space: AppSpace, _ transaction: PostgresTransaction)
        async throws
    {
        try await transaction.execute(
            "UPDATE config.documents SET live_version = NULL, live_since = NULL WHERE id = \(document.id)")
        try await announce(space, transaction)
    }

    /// Notifies all instances, when the transaction commits, that the live documents have changed.
    static func announce(_ space: AppSpace, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            UPDATE config.spaces SET generation = generation + 1
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)
            """)
        _ = try await transaction.query("SELECT pg_notify(\(LiveDocuments.channel), \(space.text))")
    }

    // MARK: SQL

    private static func source(_ key: DocumentKey, _ space: AppSpace) -> PostgresQuery {
        """
        FROM config.versions AS v JOIN config.documents AS d ON d.id = v.document_id
        WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = \(key.kind.rawValue) AND d.name = \(key.name)
        """
    }

    /// The JSON of the rows `v` and `d`.
    private static func json(isNew: Bool = true) -> PostgresQuery {
        """
        jsonb_build_object(
            'kind', d.kind, 'name', d.name, 'version', v.version, 'sha256', v.sha256, 'note', v.note, 'author', v.author, 'origin', v.origin,
            'sourceVersion', v.source_version, 'published', \(PostgresQuery.rfc3339("v.created")), 'isLive', coalesce(v.version = d.live_version, false),
            'isNew', \(isNew))::text
        """
    }
}

extension PinnedVersion {
    fileprivate var json: JSONValue {
        .object([
            .init("kind", .string(key.kind.rawValue)), .init("name", .string(key.name)),
            .init("version", .number(String(version))),
        ])
    }
}
