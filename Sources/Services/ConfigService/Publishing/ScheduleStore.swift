import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Scheduled publications.
struct ScheduleStore: Sendable {
    static let maximumWaiting = 100

    let postgres: PostgresClient

    struct Due: Sendable {
        let id: UUID
        let key: DocumentKey
        let space: AppSpace
        let content: String
        let note: String
        let author: Author
    }

    /// Schedules the publication of a draft as it is now. Runs in a transaction that holds the locks of the space and
    /// the document.
    static func add(
        _ draft: String, of document: DocumentStore.Document, in space: AppSpace, at date: Date, note: String,
        by author: Author,
        _ transaction: PostgresTransaction
    ) async throws -> String {
        let waiting: Int = try await transaction.query(
            """
            SELECT count(*) FROM config.schedules AS s JOIN config.documents AS d ON d.id = s.document_id
            WHERE s.state = 'waiting' AND d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue)
            """)[0].decode(0)
        guard waiting < maximumWaiting else {
            throw ServiceError(.limitExceeded, "At most \(maximumWaiting) publications can be scheduled at a time.")
        }
        let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        try await transaction.execute(
            """
            INSERT INTO config.schedules (id, document_id, content, note, author, due)
            VALUES (\(id), \(document.id), \(draft), \(note), \(author.text), \(date))
            """)
        return try await transaction.query(
            "SELECT \(json) FROM config.schedules AS s JOIN config.documents AS d ON d.id = s.document_id WHERE s.id = \(id)"
        )[0].decode(0)
    }

    /// Publications as JSON objects, newest first, starting before `before`.
    func list(in space: AppSpace, kinds: [DocumentKind], before: UUID?, limit: Int) async throws -> [(
        id: UUID, json: String
    )] {
        let position: PostgresQuery = before.map { "AND s.id < \($0)" } ?? ""
        let rows = try await postgres.query(
            """
            SELECT s.id, \(Self.json) FROM config.schedules AS s JOIN config.documents AS d ON d.id = s.document_id
            WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = ANY (\(kinds.map(\.rawValue))) \(position)
            ORDER BY s.id DESC LIMIT \(limit)
            """)
        return try rows.map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// - Returns: The cancelled publication as JSON; nil if no waiting publication of these kinds has this id.
    func cancel(_ id: UUID, in space: AppSpace, kinds: [DocumentKind]) async throws -> String? {
        try await postgres.query(
            """
            UPDATE config.schedules AS s SET state = 'cancelled', finished = now() FROM config.documents AS d
            WHERE s.id = \(id) AND s.state = 'waiting' AND d.id = s.document_id AND d.app_id = \(space.appID)
                AND d.environment = \(space.environment.rawValue) AND d.kind = ANY (\(kinds.map(\.rawValue)))
            RETURNING \(Self.json)
            """
        ).first?.decode(0)
    }

    /// The publications that are due, earliest first.
    func due(limit: Int) async throws -> [Due] {
        let rows = try await postgres.query(
            """
            SELECT s.id, d.kind, d.name, d.app_id, d.environment, s.content, s.note, s.author
            FROM config.schedules AS s JOIN config.documents AS d ON d.id = s.document_id
            WHERE s.state = 'waiting' AND s.due <= now() ORDER BY s.due, s.id LIMIT \(limit)
            """)
        return try rows.compactMap { row in
            guard let kind = DocumentKind(rawValue: try row.decode(1)),
                let environment = AppEnvironment(rawValue: try row.decode(4))
            else { return nil }
            return Due(
                id: try row.decode(0), key: DocumentKey(kind, try row.decode(2)),
                space: AppSpace(appID: try row.decode(3), environment: environment), content: try row.decode(5),
                note: try row.decode(6),
                author: Author(text: try row.decode(7)))
        }
    }

    /// Marks a waiting publication as published, in the transaction that publishes it. Returns false if another
    /// instance published it or it was cancelled.
    static func complete(_ id: UUID, _ transaction: PostgresTransaction) async throws -> Bool {
        try await transaction.execute(
            "UPDATE config.schedules SET state = 'published', finished = now() WHERE id = \(id) AND state = 'waiting'")
            == 1
    }

    static func record(version: Int, of id: UUID, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute("UPDATE config.schedules SET version = \(Int32(version)) WHERE id = \(id)")
    }

    func fail(_ id: UUID, because problem: String) async throws {
        try await postgres.execute(
            """
            UPDATE config.schedules SET state = 'failed', finished = now(), problem = \(String(problem.prefix(2_000)))
            WHERE id = \(id) AND state = 'waiting'
            """)
    }

    /// The JSON of the rows `s` and `d`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', s.id, 'kind', d.kind, 'name', d.name, 'at', \(PostgresQuery.rfc3339("s.due")), 'note', s.note, 'author', s.author, 'state', s.state,
            'problem', s.problem, 'version', s.version, 'created', \(PostgresQuery.rfc3339("s.created")), 'finished', \(PostgresQuery.rfc3339("s.finished")))::text
        """
}
