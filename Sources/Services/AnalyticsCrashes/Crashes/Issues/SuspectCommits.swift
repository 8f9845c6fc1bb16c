import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletSentry

/// Commits that may have caused an issue: they changed a file that occurs in the app's own frames of the newest report.
///
/// Only two groups of releases are searched: the oldest release in which the issue was seen, and the releases directly
/// before it that nobody used.
struct SuspectCommits: Sendable {
    static let maximumCount = 5
    private static let maximumFiles = 30
    private static let maximumReleases = 10

    let postgres: PostgresClient

    /// JSON objects `{"id","repository","author","message","time","release","files"}`, newest first.
    ///
    /// - Parameter content: A report's content in Sentry's format.
    func list(of issue: Int64, _ content: JSONValue, in space: Space) async throws -> [String] {
        let files = Self.files(in: content)
        guard !files.isEmpty else { return [] }
        let names = Array(Set(files.compactMap { $0.split(separator: "/").last.map { String($0) } }))
        return try await postgres.query(
            """
            WITH first AS (
                SELECT r.* FROM analytics.issues AS i JOIN analytics.releases AS f ON f.id = i.first_release JOIN analytics.releases AS r ON r.id = f.id
                    OR r.id IN (SELECT ir.release FROM analytics.issue_releases AS ir WHERE ir.issue = i.id) AND \(ReleaseOrder.package("r")) = \(ReleaseOrder.package("f"))
                WHERE i.id = \(issue) AND i.space = \(space.id) ORDER BY r.sort_key NULLS LAST, r.first_seen LIMIT 1),
            older AS (
                SELECT r.id, r.name, r.sort_key, r.first_seen FROM analytics.releases AS r, first AS f
                WHERE r.space = \(space.id) AND r.id <> f.id AND \(ReleaseOrder.isNewer("f", than: "r"))),
            used AS (
                SELECT o.* FROM older AS o WHERE EXISTS (SELECT FROM analytics.issue_releases AS u WHERE u.release = o.id)
                    OR EXISTS (SELECT FROM analytics.crash_sessions AS s WHERE s.space = \(space.id) AND s.release = o.id)),
            releases AS (
                SELECT id FROM first UNION ALL
                (SELECT o.id FROM older AS o WHERE NOT EXISTS (SELECT FROM used AS u WHERE u.id = o.id OR \(ReleaseOrder.isNewer("u", than: "o")))
                ORDER BY o.sort_key DESC NULLS LAST, o.first_seen DESC LIMIT \(Self.maximumReleases - 1))),
            changed AS (
                SELECT c.*, ARRAY(SELECT DISTINCT p FROM unnest(c.paths) AS p, unnest(\(files)) AS f
                    WHERE p = f OR right(p, length(f) + 1) = '/' || f OR right(f, length(p) + 1) = '/' || p ORDER BY 1 LIMIT 5) AS files
                FROM analytics.release_commits AS c WHERE c.release IN (SELECT id FROM releases) AND c.names && \(names))
            SELECT jsonb_build_object('id', c.id, 'repository', c.repository, 'author', c.author, 'message', c.message, 'time', \(PostgresQuery.rfc3339("c.at")),
                'release', r.name, 'files', to_jsonb(c.files))::text
            FROM changed AS c JOIN analytics.releases AS r ON r.id = c.release WHERE c.files <> '{}'
            ORDER BY c.at DESC NULLS LAST, r.first_seen DESC, c.position LIMIT \(Self.maximumCount)
            """
        ).map { try $0.decode(0) }
    }

    /// The files in the app's own frames, innermost first, as `path(_:)` writes them.
    static func files(in content: JSONValue) -> [String] {
        var files: [String] = []
        let values = ["exception", "threads"].flatMap { name -> [JSONValue] in
            guard let holder = content[name] else { return [] }
            if case .array(let values) = holder { return values }
            if case .array(let values)? = holder["values"] { return values }
            return []
        }
        for value in values {
            guard case .array(let frames)? = value["stacktrace"]?["frames"] else { continue }
            for frame in frames.reversed() where frame["in_app"] == .bool(true) {
                guard let text = (frame["filename"] ?? frame["abs_path"])?.looseText ?? frame["abs_path"]?.looseText,
                    let path = path(text)
                else { continue }
                if !files.contains(path) { files.append(path) }
                if files.count == maximumFiles { return files }
            }
        }
        return files
    }

    /// The path of a frame's file, separated by `/` and without scheme, query and `..`. Nil if the text does not name a
    /// file that a commit could change.
    static func path(_ text: String) -> String? {
        var path = text.replacing("\\", with: "/")
        if let scheme = path.range(of: "://") { path = String(path[scheme.upperBound...]) }
        if let end = path.firstIndex(where: { $0 == "?" || $0 == "#" }) { path = String(path[..<end]) }
        let parts = path.split(separator: "/").filter { $0 != "." && $0 != ".." && $0 != "~" }
        guard let name = parts.last, name.contains("."), !name.hasPrefix("<"), path.utf8.count <= 1_000,
            !path.utf8.contains(0)
        else { return nil }
        return parts.joined(separator: "/")
    }
}
