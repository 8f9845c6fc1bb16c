import MartletPostgres

/// How an issue's reports are distributed over tags, releases, and the active configurations and variants.
struct IssueFacets: Sendable {
    static let maximumKeys = 200
    static let maximumValues = 100
    /// The number of newest reports evaluated for configurations and variants.
    static let maximumReports = 10_000

    let postgres: PostgresClient

    /// The tags by name, each with its most frequent values. `share` is relative to the reports that have the tag.
    /// The values that a tag gets after its first hundred are counted under `others`.
    func tags(of issue: Int64, values: Int) async throws -> [String] {
        try await postgres.query(
            """
            WITH tags AS (
                SELECT key, value, events, last_seen, sum(events) OVER (PARTITION BY key) AS total,
                    row_number() OVER (PARTITION BY key ORDER BY value = '', events DESC, value) AS place
                FROM analytics.issue_tags WHERE issue = \(issue))
            SELECT jsonb_build_object(
                'key', key, 'events', max(total), 'distinct', count(*) FILTER (WHERE value <> ''),
                'others', coalesce(sum(events) FILTER (WHERE value = ''), 0),
                'values', coalesce(jsonb_agg(\(Self.tagValue) ORDER BY place) FILTER (WHERE value <> '' AND place <= \(values)), '[]'))::text
            FROM tags GROUP BY key ORDER BY key LIMIT \(Self.maximumKeys)
            """
        ).map { try $0.decode(0) }
    }

    /// All values of a tag, most frequent first.
    func values(of key: String, of issue: Int64) async throws -> [String] {
        try await postgres.query(
            """
            WITH tags AS (
                SELECT value, events, last_seen, sum(events) OVER () AS total FROM analytics.issue_tags WHERE issue = \(issue) AND key = \(key))
            SELECT \(Self.tagValue)::text FROM tags WHERE value <> '' ORDER BY events DESC, value LIMIT \(Self.maximumValues)
            """
        ).map { try $0.decode(0) }
    }

    /// The releases in which an issue was seen, newest first.
    func releases(of issue: Int64) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'name', r.name, 'version', r.version, 'build', r.build, 'events', ir.events,
                'share', round(ir.events::numeric / sum(ir.events) OVER (), 4), 'firstSeen', \(PostgresQuery.rfc3339("ir.first_seen")),
                'lastSeen', \(PostgresQuery.rfc3339("ir.last_seen")))::text
            FROM analytics.issue_releases AS ir JOIN analytics.releases AS r ON r.id = ir.release
            WHERE ir.issue = \(issue) ORDER BY r.sort_key DESC NULLS LAST, r.first_seen DESC, r.id DESC LIMIT \(Self.maximumValues)
            """
        ).map { try $0.decode(0) }
    }

    /// The configurations and variants that were active in the newest stored reports of the issue:
    /// `{"reports","configurations":[…],"experiments":[{"experiment","variants":[…]}]}`. The `share` of a configuration
    /// is relative to all these reports, the `share` of a variant to those that took part in the experiment.
    func active(in issue: Int64) async throws -> String {
        try await postgres.query(
            """
            WITH reports AS (
                SELECT configuration, variants, nullif(person, 0) AS person FROM analytics.crash_events WHERE issue = \(issue)
                ORDER BY received DESC, id DESC LIMIT \(Self.maximumReports)),
            configurations AS (
                SELECT configuration AS value, count(*) AS events, count(DISTINCT person) AS users, (SELECT count(*) FROM reports) AS total
                FROM reports WHERE configuration <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT \(Self.maximumValues)),
            variants AS (
                SELECT split_part(pair, '=', 1) AS experiment, substr(pair, strpos(pair, '=') + 1) AS value, count(*) AS events,
                    count(DISTINCT person) AS users, sum(count(*)) OVER (PARTITION BY split_part(pair, '=', 1)) AS total
                FROM reports, string_to_table(variants, ',') AS pair WHERE strpos(pair, '=') > 1 GROUP BY 1, 2),
            experiments AS (
                SELECT jsonb_build_object('experiment', experiment, 'events', max(total), 'variants', jsonb_agg(\(Self.share) ORDER BY events DESC, value)) AS json,
                    experiment
                FROM variants GROUP BY experiment ORDER BY experiment LIMIT \(Self.maximumValues))
            SELECT jsonb_build_object(
                'reports', (SELECT count(*) FROM reports),
                'configurations', coalesce((SELECT jsonb_agg(\(Self.share) ORDER BY events DESC, value) FROM configurations), '[]'),
                'experiments', coalesce((SELECT jsonb_agg(json ORDER BY experiment) FROM experiments), '[]'))::text
            """)[0].decode(0)
    }

    private static let tagValue: PostgresQuery = """
        jsonb_build_object('value', value, 'events', events, 'share', round(events::numeric / total, 4), 'lastSeen', \(PostgresQuery.rfc3339("last_seen")))
        """

    private static let share: PostgresQuery =
        "jsonb_build_object('value', value, 'events', events, 'users', users, 'share', round(events::numeric / total, 4))"
}
