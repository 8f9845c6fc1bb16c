import Foundation
import MartletAPI
import MartletFiles
import MartletPostgres

/// The stored reports of an issue.
struct IssueReports: Sendable {
    static let maximumAttachments = 50

    let postgres: PostgresClient
    let files: any FileBackend

    /// Selects one of an issue's reports.
    enum Choice: Sendable, Equatable {
        case newest, oldest
        case id(UUID)

        /// Nil if the text is not valid. Ids are 32 hexadecimal digits or in the form of a UUID.
        init?(_ text: String) {
            switch text {
            case "newest": self = .newest
            case "oldest": self = .oldest
            default:
                guard let id = UUID(reportID: text) else { return nil }
                self = .id(id)
            }
        }

        /// The SQL that selects the report among the rows `e` of an issue.
        fileprivate var clause: PostgresQuery {
            switch self {
            case .newest: "ORDER BY e.received DESC, e.id DESC LIMIT 1"
            case .oldest: "ORDER BY e.received, e.id LIMIT 1"
            case .id(let id): "AND e.event_id = \(id)"
            }
        }
    }

    /// A page of reports without their contents, newest first.
    func list(of issue: Int64, after cursor: ListCursor?, limit: Int) async throws -> [(
        json: String, cursor: ListCursor
    )] {
        let cursorCondition: PostgresQuery =
            cursor.map { "AND (e.received, e.id) < (\(PostgresQuery.time($0.value)), \($0.id))" } ?? ""
        return try await postgres.query(
            """
            SELECT jsonb_build_object(\(Self.members))::text, \(PostgresQuery.microseconds("e.received")), e.id
            FROM analytics.crash_events AS e LEFT JOIN analytics.releases AS r ON r.id = e.release
            WHERE e.issue = \(issue) \(cursorCondition) ORDER BY e.received DESC, e.id DESC LIMIT \(limit)
            """
        ).map { (try $0.decode(0), ListCursor(order: "received", value: try $0.decode(1), id: try $0.decode(2))) }
    }

    /// A complete report, with the ids of those received before and after it; nil if the issue has no such report.
    func read(_ choice: Choice, of issue: Int64) async throws -> String? {
        try await postgres.query(
            """
            SELECT (jsonb_build_object(\(Self.members)) || jsonb_build_object(
                'content', e.content,
                'previous', (SELECT \(Self.id("p.event_id")) FROM analytics.crash_events AS p
                    WHERE p.issue = e.issue AND (p.received, p.id) < (e.received, e.id) ORDER BY p.received DESC, p.id DESC LIMIT 1),
                'next', (SELECT \(Self.id("n.event_id")) FROM analytics.crash_events AS n
                    WHERE n.issue = e.issue AND (n.received, n.id) > (e.received, e.id) ORDER BY n.received, n.id LIMIT 1),
                'attachments', coalesce((SELECT jsonb_agg(jsonb_build_object(
                    'id', a.id, 'name', a.name, 'contentType', a.content_type, 'kind', a.kind, 'size', a.size) ORDER BY a.id)
                    FROM (SELECT * FROM analytics.crash_attachments WHERE space = e.space AND event_id = e.event_id
                        ORDER BY id LIMIT \(Self.maximumAttachments)) AS a), '[]'),
                'feedback', coalesce((SELECT jsonb_agg(jsonb_build_object(
                    'name', f.name, 'email', f.email, 'message', f.message, 'received', \(PostgresQuery.rfc3339("f.received"))) ORDER BY f.id)
                    FROM (SELECT * FROM analytics.crash_feedback WHERE space = e.space AND event_id = e.event_id ORDER BY id LIMIT 50) AS f), '[]')
                ))::text
            FROM analytics.crash_events AS e LEFT JOIN analytics.releases AS r ON r.id = e.release
            WHERE e.issue = \(issue) \(choice.clause)
            """
        ).first?.decode(0)
    }

    // MARK: Attachments

    struct Attachment: Sendable {
        var blob: BlobName
        var name: String
        var contentType: String
        var sizeInBytes: Int
    }

    func attachment(_ id: Int64, of choice: Choice, of issue: Int64) async throws -> Attachment? {
        let rows = try await postgres.query(
            """
            SELECT a.blob, a.name, a.content_type, a.size, a.space FROM analytics.crash_attachments AS a
            JOIN (SELECT e.space, e.event_id FROM analytics.crash_events AS e WHERE e.issue = \(issue) \(choice.clause)) AS r
                ON r.space = a.space AND r.event_id = a.event_id
            WHERE a.id = \(id)
            """)
        guard let row = rows.first, let blob = BlobName(crash: try row.decode(0), in: try row.decode(4)) else {
            return nil
        }
        return Attachment(
            blob: blob, name: try row.decode(1), contentType: try row.decode(2), sizeInBytes: try row.decode(3))
    }

    // MARK: SQL

    private static func id(_ column: StaticString) -> PostgresQuery { "replace(\(unescaped: column)::text, '-', '')" }

    /// The JSON members of the rows `e` and `r`.
    private static let members: PostgresQuery = """
        'id', \(id("e.event_id")), 'received', \(PostgresQuery.rfc3339("e.received")), 'time', \(PostgresQuery.rfc3339("e.at")),
        'release', r.name, 'level', \(CrashLevel.name(of: "e.level")), 'handled', e.handled, 'environment', e.stage, 'os', e.os, 'device', e.device,
        'configuration', e.configuration, 'variants', e.variants, 'message', e.message
        """
}

extension BlobName {
    /// The blob of a report's attachment, as named in `crash_attachments`.
    init?(crash id: String, in space: Int32) {
        self.init(space: Self.crashSpace(space), id: id)
    }

    /// The first component of the names of a space's attachments.
    static func crashSpace(_ space: Int32) -> String { "crash_\(space)" }
}

extension UUID {
    /// Parses a report's id: 32 hexadecimal digits, or the form of a UUID.
    init?(reportID text: String) {
        guard text.utf8.count == 32 else {
            self.init(uuidString: text)
            return
        }
        let starts = [0, 8, 12, 16, 20, 32]
        let digits = Array(text.utf8)
        let parts = zip(starts, starts.dropFirst()).map { String(decoding: digits[$0..<$1], as: UTF8.self) }
        self.init(uuidString: parts.joined(separator: "-"))
    }
}
