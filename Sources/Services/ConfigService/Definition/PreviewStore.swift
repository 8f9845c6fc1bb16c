import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The previews of drafts. A preview ends when it expires, when it is revoked or when its document is deleted.
struct PreviewStore: Sendable {
    /// The maximum number of open previews per document.
    static let maximumCount = 50

    let postgres: PostgresClient

    /// - Throws: `document-not-found`, `limit-exceeded`.
    func add(_ key: DocumentKey, in space: AppSpace, until end: Date, by author: Author) async throws -> UUID {
        try await postgres.withTransaction { transaction in
            guard let document = try await DocumentStore.lock(key, space, transaction), document.draft != nil else {
                throw ServiceError(.documentNotFound)
            }
            try await transaction.execute(
                "DELETE FROM config.previews WHERE document_id = \(document.id) AND expires <= now()")
            let count: Int = try await transaction.query(
                "SELECT count(*) FROM config.previews WHERE document_id = \(document.id)")[0].decode(0)
            guard count < Self.maximumCount else {
                throw ServiceError(
                    .limitExceeded,
                    "At most \(Self.maximumCount) previews of a draft can be open at a time; revoke one.")
            }
            let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
            try await transaction.execute(
                "INSERT INTO config.previews (id, document_id, author, expires) VALUES (\(id), \(document.id), \(author.text), \(end))"
            )
            return id
        }
    }

    /// The open previews as JSON objects, newest first.
    func list(_ key: DocumentKey, in space: AppSpace) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'id', p.id, 'author', p.author, 'created', \(PostgresQuery.rfc3339("p.created")), 'expires', \(PostgresQuery.rfc3339("p.expires")))::text
            FROM \(Self.source(key, space)) AND p.expires > now() ORDER BY p.created DESC, p.id DESC LIMIT \(Self.maximumCount)
            """
        ).map { try $0.decode(0) }
    }

    func isOpen(_ id: UUID, of key: DocumentKey, in space: AppSpace, at now: Date) async throws -> Bool {
        try await postgres.query("SELECT 1 FROM \(Self.source(key, space)) AND p.id = \(id) AND p.expires > \(now)")
            .isEmpty == false
    }

    /// Returns false if there is no open preview with this id.
    func revoke(_ id: UUID, of key: DocumentKey, in space: AppSpace) async throws -> Bool {
        try await postgres.query(
            """
            DELETE FROM config.previews WHERE id IN (SELECT p.id FROM \(Self.source(key, space)) AND p.id = \(id)) RETURNING expires > now()
            """
        ).first?.decode(0) ?? false
    }

    /// Deletes all previews of a deleted document.
    static func delete(of document: UUID, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute("DELETE FROM config.previews WHERE document_id = \(document)")
    }

    /// The previews `p` of a document.
    private static func source(_ key: DocumentKey, _ space: AppSpace) -> PostgresQuery {
        """
        config.previews AS p JOIN config.documents AS d ON d.id = p.document_id
        WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = \(key.kind.rawValue) AND d.name = \(key.name)
        """
    }
}
