import MartletAPI
import MartletCore
import MartletPostgres

/// Reads the versions of live configurations and translations.
struct LiveVersionStore: Sendable {
    let postgres: PostgresClient

    func generations() async throws -> [AppSpace: Int64] {
        let rows = try await postgres.query("SELECT app_id, environment, generation FROM config.spaces")
        var generations: [AppSpace: Int64] = [:]
        for row in rows {
            guard let environment = AppEnvironment(rawValue: try row.decode(1)) else { continue }
            generations[AppSpace(appID: try row.decode(0), environment: environment)] = try row.decode(2)
        }
        return generations
    }

    /// The most recently published document of each kind in each space. A configuration is given by its own `version`
    /// or else its number, a translation in the form that `translationVersion/{language}/{version}` accepts: `1.2.0~7`.
    /// (A string catalogue's own `version` is that of Xcode's format.)
    func versions(of spaces: some Collection<AppSpace>) async throws -> [AppSpace: LiveVersions.Space] {
        let rows = try await postgres.query(
            """
            SELECT DISTINCT ON (d.app_id, d.environment, d.kind)
                d.app_id, d.environment, d.kind, v.version::text,
                CASE d.kind WHEN 'translation' THEN d.name || '~' || v.version ELSE v.content::json ->> 'version' END, \(PostgresQuery.rfc3339("v.created"))
            FROM unnest(\(spaces.map(\.appID)), \(spaces.map(\.environment.rawValue))) AS wanted (app_id, environment)
            JOIN config.documents AS d USING (app_id, environment)
            JOIN config.versions AS v ON v.document_id = d.id AND v.version = d.live_version
            WHERE d.kind IN ('configuration', 'translation')
            ORDER BY d.app_id, d.environment, d.kind, v.created DESC, d.name
            """)
        var versions: [AppSpace: LiveVersions.Space] = [:]
        for row in rows {
            guard let environment = AppEnvironment(rawValue: try row.decode(1)),
                let kind = DocumentKind(rawValue: try row.decode(2))
            else { continue }
            let space = AppSpace(appID: try row.decode(0), environment: environment)
            let own: String? = try row.decode(4)
            let version = LiveVersions.Version(
                version: try own.flatMap(Self.plain) ?? row.decode(3), date: try row.decode(5))
            var entry = versions[space] ?? LiveVersions.Space(appID: space.appID, environment: environment)
            if kind == .configuration { entry.config = version } else { entry.translation = version }
            versions[space] = entry
        }
        return versions
    }

    /// Nil if the text cannot appear in a header.
    private static func plain(_ text: String) -> String? {
        let isPlain =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != 0x22 && $0 != 0x5c }
        return isPlain ? text : nil
    }
}
