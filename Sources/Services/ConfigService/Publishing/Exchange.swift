import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Exports and imports many documents at a time.
struct Exchange: Sendable {
    static let maximumDocuments = 1_000
    static let maximumSizeInBytes = 16 << 20

    let postgres: PostgresClient
    let publisher: Publisher
    let kinds: Kinds

    struct Item: Sendable {
        let key: DocumentKey
        let draft: String
        let live: String?
    }

    /// Drafts and live versions as `{"documents":[{"kind","name","draft","live"}]}`.
    ///
    /// - Throws: `limit-exceeded` if there is more than one import accepts.
    func export(_ kinds: [DocumentKind], of space: AppSpace) async throws -> String {
        let condition: PostgresQuery = """
            FROM config.documents AS d LEFT JOIN config.versions AS v ON v.document_id = d.id AND v.version = d.live_version
            WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = ANY (\(kinds.map(\.rawValue)))
                AND d.draft IS NOT NULL
            """
        let row = try await postgres.query(
            "SELECT count(*), coalesce(sum(octet_length(d.draft) + coalesce(octet_length(v.content), 0)), 0)::bigint \(condition)"
        )[0]
        guard try row.decode(0, as: Int.self) <= Self.maximumDocuments,
            try row.decode(1, as: Int.self) <= Self.maximumSizeInBytes - (1 << 20)
        else {
            throw ServiceError(
                .limitExceeded, "There are too many documents to export at once; select some with kind.", field: "kind")
        }
        let rows = try await postgres.query(
            "SELECT d.kind, d.name, d.draft, v.content \(condition) ORDER BY d.kind, d.name")
        let documents = try rows.map { row in
            let live: String? = try row.decode(3)
            return
                #"{"kind":"\#(try row.decode(0, as: String.self))","name":"\#(try row.decode(1, as: String.self))","draft":"#
                + (try row.decode(2, as: String.self)) + #","live":"# + (live ?? "null") + "}"
        }
        return #"{"documents":["# + documents.joined(separator: ",") + "]}"
    }

    /// Stores all drafts or none. If `publishing` is set, also publishes the documents that have a live version, each
    /// in its own transaction, in the order of their dependencies.
    ///
    /// - Parameter replacing: Whether drafts of existing documents are replaced.
    /// - Returns: The published versions as JSON objects.
    /// - Throws: `conflict` naming an existing document; `limit-exceeded`; `document-refused`, after which no more
    ///   documents are published.
    func importDocuments(_ items: [Item], into space: AppSpace, replacing: Bool, publishing: Bool, by author: Author)
        async throws -> [String]
    {
        try await postgres.withTransaction { transaction in
            try await DocumentStore.lock(space, transaction)
            for item in items {
                let request = Publisher.Request(key: item.key, space: space, author: author)
                let document = try await DocumentStore.lock(item.key, space, transaction)
                let draft = try await publisher.transferred(item.draft, document, request, transaction)
                guard let document else {
                    _ = try await DocumentStore.insert(
                        item.key, space, draft, author, kinds[item.key.kind]?.maximumDocuments ?? 0, transaction)
                    continue
                }
                guard replacing || document.draft == nil else {
                    throw ServiceError(
                        .conflict,
                        "The \(item.key.kind.rawValue) \(item.key.name) already exists; send replace=true to replace its draft."
                    )
                }
                try await DocumentStore.setDraft(draft, of: document.id, by: author, transaction)
            }
        }
        guard publishing else { return [] }
        var versions: [String] = []
        for item in items.filter({ !$0.key.kind.isCheckedAgainstOthers })
            + items.filter({ $0.key.kind.isCheckedAgainstOthers })
        {
            guard let live = item.live else { continue }
            do {
                versions.append(
                    try await publisher.publishImported(
                        live, Publisher.Request(key: item.key, space: space, author: author)))
            } catch let problem as ServiceError where problem.code == .documentRefused {
                throw ServiceError(
                    .documentRefused,
                    "All drafts were stored and \(versions.count) documents published, but the \(item.key.kind.rawValue) \(item.key.name) was refused; see findings.",
                    findings: problem.findings ?? [])
            }
        }
        return versions
    }
}

extension DocumentKind {
    /// Experiments are checked against configurations and flags, definitions against translations and flags.
    fileprivate var isCheckedAgainstOthers: Bool { self == .experiment || self == .definition }
}
