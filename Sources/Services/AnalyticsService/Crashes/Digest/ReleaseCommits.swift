import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry

/// A commit that went into a release. Addresses of authors, which `sentry-cli` sends, too, are not kept.
struct ReleaseCommit: Sendable {
    /// Of a release. Older ones are left out.
    static let maximumCount = 500
    /// Files of a commit.
    private static let maximumPaths = 100

    var id: String
    var repository: String
    var author: String
    /// The first line.
    var message: String
    var at: Date?
    /// Files that it changed, from the repository's root.
    var paths: [String]
    /// What the whole message says that it mends.
    var fixes: [CommitReference]

    /// The last parts of the paths, each once.
    var fileNames: [String] { Array(Set(paths.map { String($0.split(separator: "/").last ?? "") })) }

    /// - Throws: `invalid-body`.
    init(_ value: JSONValue) throws {
        guard let id = value["id"]?.looseText, (1...64).contains(id.utf8.count) else {
            throw HTTPProblem(.invalidBody, "A commit has an id of 1 to 64 bytes.", field: "commits")
        }
        func line(_ name: String, upTo limit: Int) -> String {
            (value[name]?.looseText ?? "").split(separator: "\n", maxSplits: 1).first.map { String($0).cut(toBytes: limit) } ?? ""
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

    /// The newest of a body's `commits`, in its order; nil where it says nothing of them.
    ///
    /// - Throws: `invalid-body`.
    static func list(_ body: JSONValue) throws -> [ReleaseCommit]? {
        guard let value = body["commits"], value != .null else { return nil }
        guard case .array(let commits) = value else { throw HTTPProblem(.invalidBody, "It is a list of commits.", field: "commits") }
        return try commits.prefix(maximumCount).map { try ReleaseCommit($0) }
    }
}

/// Which commits went into releases.
struct ReleaseCommitStore: Sendable {
    let postgres: PostgresClient

    /// In place of those that were there.
    static func set(_ commits: [ReleaseCommit], of release: Int32, _ transaction: PostgresTransaction) async throws {
        // One after the other.
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

    /// A JSON list in Sentry's form, the newest first; nil: there is no such release.
    func list(of release: ReleaseName, in space: Space) async throws -> String? {
        try await postgres.query(
            """
            SELECT coalesce((
                SELECT jsonb_agg(\(Self.commit) ORDER BY c.position) FROM analytics.release_commits AS c WHERE c.release = r.id), '[]')::text
            FROM analytics.releases AS r WHERE r.space = \(space.id) AND r.name = \(release.text)
            """
        ).first?.decode(0)
    }

    /// The release before this one, or the newest where this one is not known, of those that have commits: `{"version","dateCreated",
    /// "url","lastCommit"}`, without which `sentry-cli` does not read it; `{}`: there is none.
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

    /// Of a row `c`.
    private static let commit: PostgresQuery = """
        jsonb_build_object('id', c.id, 'message', c.message, 'dateCreated', \(PostgresQuery.rfc3339("c.at")),
            'author', jsonb_build_object('name', c.author), 'repository', jsonb_build_object('name', c.repository))
        """
}
