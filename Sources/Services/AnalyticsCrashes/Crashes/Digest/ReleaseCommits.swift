import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletSentry

/// A commit contained in a release. The authors' e-mail addresses, which `sentry-cli` also sends, are not stored.
struct ReleaseCommit: Sendable {
    /// Maximum number of commits per release; older ones are dropped.
    static let maximumCount = 500
    /// Maximum number of files per commit.
    private static let maximumPaths = 100

    var id: String
    var repository: String
    var author: String
    /// The first line of the message.
    var message: String
    var at: Date?
    /// The changed files, relative to the repository's root.
    var paths: [String]
    /// The references in the whole message.
    var fixes: [CommitReference]

    /// The distinct last components of the paths.
    var fileNames: [String] { Array(Set(paths.map { String($0.split(separator: "/").last ?? "") })) }

    /// - Throws: `invalid-body`.
    init(_ value: JSONValue) throws {
        guard let id = value["id"]?.looseText, (1...64).contains(id.utf8.count) else {
            throw ServiceError(.invalidBody, "Expected commits with an id of 1 to 64 bytes.", field: "commits")
        }
        func line(_ name: String, upTo limit: Int) -> String {
            (value[name]?.looseText ?? "").split(separator: "\n", maxSplits: 1).first.map {
                String($0).cut(toBytes: limit)
            } ?? ""
        }
        self.id = id
        repository = line("repository", upTo: 200)
        author = line("author_name", upTo: 100)
        message = line("message", upTo: 200)
        at = value["timestamp"].flatMap { Date(loose: $0) }
        paths = (value["patch_set"]?.looseList ?? []).prefix(Self.maximumPaths).compactMap { $0["path"]?.looseText }
            .filter { (1...300).contains($0.utf8.count) && !$0.utf8.contains(0) }
        fixes = CommitReference.list(in: value["message"]?.looseText ?? "")
    }

    /// The first `maximumCount` of a body's `commits`, which clients send newest first; nil if the body has none.
    ///
    /// - Throws: `invalid-body`.
    static func list(_ body: JSONValue) throws -> [ReleaseCommit]? {
        guard let value = body["commits"], value != .null else { return nil }
        guard case .array(let commits) = value else {
            throw ServiceError(
                .invalidBody, "Expected an array of commits, found \(value.phrase).", field: "commits")
        }
        return try commits.prefix(maximumCount).map { try ReleaseCommit($0) }
    }
}

/// The commits of releases.
struct ReleaseCommitStore: Sendable {
    let postgres: PostgresClient

    /// Replaces a release's commits.
    static func set(_ commits: [ReleaseCommit], of release: Int32, _ transaction: PostgresTransaction) async throws {
        // Locks the release, so that concurrent calls run one after the other.
        try await transaction.execute("SELECT FROM analytics.releases WHERE id = \(release) FOR NO KEY UPDATE")
        try await transaction.execute("DELETE FROM analytics.release_commits WHERE release = \(release)")
        try await transaction.execute(
            """
            INSERT INTO analytics.release_commits (release, position, id, repository, author, message, at, paths, names)
            SELECT \(release), q.position, q.id, q.repository, q.author, q.message, to_timestamp(nullif(q.at, 0) / 1e6),
                ARRAY(SELECT jsonb_array_elements_text(q.paths::jsonb)), ARRAY(SELECT jsonb_array_elements_text(q.names::jsonb))
            FROM unnest(\(commits.indices.map { $0 + 1 }), \(commits.map(\.id)), \(commits.map(\.repository)),
                \(commits.map(\.author)), \(commits.map(\.message)), \(commits.map { $0.at?.microseconds ?? 0 }),
                \(commits.map { JSONValue.array($0.paths.map { .string($0) }).text }),
                \(commits.map { JSONValue.array($0.fileNames.map { .string($0) }).text })) AS q (position, id, repository, author, message, at, paths, names)
            """)
    }

    /// The commits as a JSON array in Sentry's format, newest first; nil if there is no such release.
    func list(of release: ReleaseName, in space: Space) async throws -> String? {
        try await postgres.query(
            """
            SELECT coalesce((
                SELECT jsonb_agg(\(Self.commit) ORDER BY c.position) FROM analytics.release_commits AS c WHERE c.release = r.id), '[]')::text
            FROM analytics.releases AS r WHERE r.space = \(space.id) AND r.name = \(release.text)
            """
        ).first?.decode(0)
    }

    /// The newest release that has commits and is not newer than `release`. If `release` is unknown, the newest release
    /// that has commits.
    ///
    /// - Returns: `{"version","dateCreated","url","lastCommit"}`, all of which `sentry-cli` requires; `{}` if there is
    ///   no such release.
    func previous(to release: ReleaseName, in space: Space) async throws -> String {
        try await postgres.query(
            """
            SELECT jsonb_build_object('version', r.name, 'dateCreated', \(PostgresQuery.rfc3339("r.first_seen")), 'url', NULL,
                'lastCommit', \(Self.commit))::text
            FROM analytics.releases AS r JOIN analytics.release_commits AS c ON c.release = r.id AND c.position = 1
            WHERE r.space = \(space.id) AND r.name <> \(release.text) AND r.first_seen <= coalesce(
                (SELECT first_seen FROM analytics.releases WHERE space = \(space.id) AND name = \(release.text)), 'infinity')
            ORDER BY r.first_seen DESC, r.id DESC LIMIT 1
            """
        ).first?.decode(0) ?? "{}"
    }

    /// The JSON of the row `c`.
    private static let commit: PostgresQuery = """
        jsonb_build_object('id', c.id, 'message', c.message, 'dateCreated', \(PostgresQuery.rfc3339("c.at")),
            'author', jsonb_build_object('name', c.author), 'repository', jsonb_build_object('name', c.repository))
        """
}
