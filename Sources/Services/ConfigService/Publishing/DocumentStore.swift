import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Documents and their drafts.
struct DocumentStore: Sendable {
    let postgres: PostgresClient

    /// A document's row.
    struct Document: Sendable {
        let id: UUID
        /// Nil if the document was deleted.
        let draft: String?
        let revision: Int64
        let liveVersion: Int?
        let lastVersion: Int
        /// Versions before this one belong to a deleted document with the same name.
        let firstVersion: Int
        /// The time of the draft's last change.
        let changed: Date
    }

    /// The result of storing a draft.
    struct Edited: Sendable {
        let revision: Int64
        let draft: String
    }

    /// The document; nil if there is none or it was deleted.
    func read(_ key: DocumentKey, in space: AppSpace) async throws -> Document? {
        let document = try await postgres.query(Self.selection(key, space)).first.map(Self.document)
        return document?.draft == nil ? nil : document
    }

    /// Documents as JSON objects, ordered by name, starting after `after`.
    func list(_ kind: DocumentKind, in space: AppSpace, after: String?, limit: Int) async throws -> [(
        name: String, json: String
    )] {
        let rows = try await postgres.query(
            """
            SELECT d.name, \(Self.json) FROM config.documents AS d
            WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = \(kind.rawValue)
                AND d.draft IS NOT NULL AND d.name > \(after ?? "")
            ORDER BY d.name LIMIT \(limit)
            """)
        return try rows.map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Stores a draft derived from the current one, under the document's lock.
    ///
    /// - Parameter edit: Receives the current draft, or nil if there is none.
    /// - Throws: `precondition-failed`, `limit-exceeded`, and the errors of `edit`.
    func edit(
        _ key: DocumentKey, in space: AppSpace, if condition: DraftCondition, by author: Author,
        maximumDocuments: Int,
        _ edit: @Sendable (_ draft: String?) throws -> String
    ) async throws -> Edited {
        try await postgres.withTransaction { transaction in
            try await Self.lock(space, transaction)
            let document = try await Self.lock(key, space, transaction)
            try condition.check(document)
            let draft = try edit(document?.draft)
            let revision =
                if let document {
                    try await Self.setDraft(draft, of: document.id, by: author, transaction)
                } else {
                    try await Self.insert(key, space, draft, author, maximumDocuments, transaction)
                }
            return Edited(revision: revision, draft: draft)
        }
    }

    /// Deletes a document and its live version; its versions are kept.
    ///
    /// - Throws: `document-not-found`, `precondition-failed`.
    func delete(_ key: DocumentKey, in space: AppSpace, if condition: DraftCondition, by author: Author) async throws {
        try await postgres.withTransaction { transaction in
            try await Self.lock(space, transaction)
            guard let document = try await Self.lock(key, space, transaction), document.draft != nil else {
                throw ServiceError(.documentNotFound)
            }
            try condition.check(document)
            try await transaction.execute(
                """
                UPDATE config.documents SET draft = NULL, revision = revision + 1, draft_author = \(author.text), draft_changed = now(),
                    live_version = NULL, live_since = NULL
                WHERE id = \(document.id)
                """)
            try await transaction.execute(
                "UPDATE config.schedules SET state = 'cancelled', finished = now() WHERE document_id = \(document.id) AND state = 'waiting'"
            )
            if key.kind == .definition { try await PreviewStore.delete(of: document.id, transaction) }
            if key.kind == .experiment {
                let id = ExperimentDocument.id(of: key.name, from: document.firstVersion)
                try await ObservationStore.delete(of: id, in: space, transaction)
                // Without a version no unit was exposed, and the next document with this name gets the same id.
                if document.lastVersion >= document.firstVersion {
                    try await ExposureStore.end(id, in: space, transaction)
                }
            }
            if document.liveVersion != nil { try await VersionStore.announce(space, transaction) }
        }
    }

    // MARK: In a transaction

    /// Locks the space's row, creating it if necessary, so that changes in a space are serialized.
    static func lock(_ space: AppSpace, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "INSERT INTO config.spaces (app_id, environment) VALUES (\(space.appID), \(space.environment.rawValue)) ON CONFLICT DO NOTHING"
        )
        _ = try await transaction.query(
            "SELECT 1 FROM config.spaces WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) FOR UPDATE"
        )
    }

    /// Locks a document's row and returns it, even if the document was deleted.
    static func lock(_ key: DocumentKey, _ space: AppSpace, _ transaction: PostgresTransaction) async throws
        -> Document?
    {
        try await transaction.query("\(selection(key, space)) FOR UPDATE").first.map(document)
    }

    static func insert(
        _ key: DocumentKey, _ space: AppSpace, _ draft: String, _ author: Author, _ maximumDocuments: Int,
        _ transaction: PostgresTransaction
    ) async throws -> Int64 {
        let count: Int = try await transaction.query(
            """
            SELECT count(*) FROM config.documents
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND kind = \(key.kind.rawValue)
            """)[0].decode(0)
        guard count < maximumDocuments else {
            throw ServiceError(
                .limitExceeded,
                "There may be at most \(maximumDocuments) documents of this kind, including deleted ones.")
        }
        try await transaction.execute(
            """
            INSERT INTO config.documents (id, app_id, environment, kind, name, draft, draft_author)
            VALUES (\(UUID(uuidString: UUIDv7.make()) ?? UUID()), \(space.appID), \(space.environment.rawValue), \(key.kind.rawValue), \(key.name),
                \(draft), \(author.text))
            """)
        return 1
    }

    @discardableResult
    static func setDraft(_ draft: String, of id: UUID, by author: Author, _ transaction: PostgresTransaction)
        async throws -> Int64
    {
        try await transaction.query(
            """
            UPDATE config.documents SET draft = \(draft), revision = revision + 1, draft_author = \(author.text), draft_changed = now(),
                first_version = CASE WHEN draft IS NULL THEN last_version + 1 ELSE first_version END
            WHERE id = \(id) RETURNING revision
            """)[0].decode(0)
    }

    // MARK: SQL

    private static func selection(_ key: DocumentKey, _ space: AppSpace) -> PostgresQuery {
        """
        SELECT d.id, d.draft, d.revision, d.live_version, d.last_version, d.first_version, d.draft_changed
        FROM config.documents AS d
        WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = \(key.kind.rawValue) AND d.name = \(key.name)
        """
    }

    private static func document(_ row: PostgresRow) throws -> Document {
        Document(
            id: try row.decode(0), draft: try row.decode(1), revision: try row.decode(2),
            liveVersion: (try row.decode(3, as: Int32?.self)).map(Int.init),
            lastVersion: Int(try row.decode(4, as: Int32.self)), firstVersion: Int(try row.decode(5, as: Int32.self)),
            changed: try row.decode(6))
    }

    /// The JSON of the row `d`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'kind', d.kind, 'name', d.name, 'revision', d.revision, 'changed', \(PostgresQuery.rfc3339("d.draft_changed")), 'changedBy', d.draft_author,
            'lastVersion', d.last_version, 'liveVersion', d.live_version, 'liveSince', \(PostgresQuery.rfc3339("d.live_since")),
            'isChanged', d.live_version IS NULL OR d.draft <> (
                SELECT v.content FROM config.versions AS v WHERE v.document_id = d.id AND v.version = d.live_version))::text
        """
}

/// The precondition that a change sets on the current draft.
struct DraftCondition: Sendable {
    private enum Wanted: Sendable {
        case new
        case revisions([String]?)
        case anything
    }

    private let wanted: Wanted

    /// For changes whose author has not read the draft.
    static let none = DraftCondition(wanted: .anything)

    private init(wanted: Wanted) {
        self.wanted = wanted
    }

    var isForNew: Bool { if case .new = wanted { true } else { false } }

    func check(_ document: DocumentStore.Document?) throws {
        let exists = document?.draft != nil
        switch wanted {
        case .anything: return
        case .new: guard !exists else { throw ServiceError(.preconditionFailed, "The document already exists.") }
        case .revisions(let tags):
            guard let document, exists else {
                throw ServiceError(.preconditionFailed, "The document does not exist; create it with If-None-Match: *.")
            }
            guard tags?.contains(String(document.revision)) ?? true else {
                throw ServiceError(
                    .preconditionFailed, "The draft has changed; its revision is now \(document.revision).")
            }
        }
    }
}

extension DraftCondition {
    /// Requires `If-Match` with the draft's revision or `*`, or `If-None-Match: *`.
    ///
    /// - Throws: `precondition-required` if both are missing, `invalid-parameter`.
    init(_ request: Request) throws {
        if try Precondition.mustBeNew(request) {
            self.init(wanted: .new)
        } else if let condition = try Precondition(request) {
            self.init(wanted: .revisions(condition.tags))
        } else {
            throw ServiceError(
                .preconditionRequired, "Send the draft's ETag as If-Match, or If-None-Match: * for a new document.")
        }
    }

    /// Reads `If-Match` if present.
    init(ifAnyIn request: Request) throws {
        self.init(wanted: try Precondition(request).map { .revisions($0.tags) } ?? .anything)
    }
}
