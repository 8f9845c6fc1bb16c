import MartletPostgres

/// SQL that updates the statistics of issues whose reports were moved.
enum IssueStatistics {
    /// Sets an issue's first and last release from its counted reports.
    static func releases(of issue: Int64) -> PostgresQuery {
        """
        UPDATE analytics.issues SET
            first_release = (SELECT r.id FROM analytics.issue_releases AS ir JOIN analytics.releases AS r ON r.id = ir.release
                WHERE ir.issue = \(issue) ORDER BY ir.first_seen, r.id LIMIT 1),
            last_release = (SELECT r.id FROM analytics.issue_releases AS ir JOIN analytics.releases AS r ON r.id = ir.release
                WHERE ir.issue = \(issue) ORDER BY r.sort_key DESC NULLS LAST, r.first_seen DESC, r.id DESC LIMIT 1)
        WHERE id = \(issue)
        """
    }

    /// Counts the reports of a new issue, and subtracts them from the issue they came from.
    static func split(_ new: Int64, from old: Int64) -> [PostgresQuery] {
        [
            """
            INSERT INTO analytics.issue_days (issue, day, events)
            SELECT \(new), (at AT TIME ZONE 'UTC')::date, count(*) FROM analytics.crash_events WHERE issue = \(new) GROUP BY 2
            """,
            """
            INSERT INTO analytics.issue_releases (issue, release, events, first_seen, last_seen)
            SELECT \(new), release, count(*), min(at), max(at) FROM analytics.crash_events WHERE issue = \(new) AND release IS NOT NULL GROUP BY release
            """,
            """
            INSERT INTO analytics.issue_users (issue, person, last_seen)
            SELECT \(new), person, max(at) FROM analytics.crash_events WHERE issue = \(new) AND person <> 0 GROUP BY person
            """,
            """
            INSERT INTO analytics.issue_tags (issue, key, value, events, last_seen)
            SELECT \(new), t.key, t.value, count(*), max(e.at) FROM analytics.crash_events AS e LEFT JOIN analytics.releases AS r ON r.id = e.release, \(tags)
            WHERE e.issue = \(new) AND octet_length(t.key) BETWEEN 1 AND 200 AND t.value <> '' AND octet_length(t.value) <= 800 GROUP BY 2, 3
            """,
        ] + subtract(new, from: old) + [
            totals(of: new), subtractTotals(of: old, by: new), releases(of: new), releases(of: old),
        ]
    }

    private static func subtract(_ new: Int64, from old: Int64) -> [PostgresQuery] {
        [
            "UPDATE analytics.issue_days AS o SET events = o.events - n.events FROM analytics.issue_days AS n WHERE n.issue = \(new) AND o.issue = \(old) AND o.day = n.day",
            "DELETE FROM analytics.issue_days WHERE issue = \(old) AND events <= 0",
            """
            UPDATE analytics.issue_releases AS o SET events = o.events - n.events FROM analytics.issue_releases AS n
            WHERE n.issue = \(new) AND o.issue = \(old) AND o.release = n.release
            """,
            "DELETE FROM analytics.issue_releases WHERE issue = \(old) AND events <= 0",
            """
            UPDATE analytics.issue_tags AS o SET events = o.events - n.events FROM analytics.issue_tags AS n
            WHERE n.issue = \(new) AND o.issue = \(old) AND o.key = n.key AND o.value = n.value
            """,
            "DELETE FROM analytics.issue_tags WHERE issue = \(old) AND events <= 0",
            """
            DELETE FROM analytics.issue_users AS o USING analytics.issue_users AS n WHERE n.issue = \(new) AND o.issue = \(old) AND o.person = n.person
                AND NOT EXISTS (SELECT FROM analytics.crash_events AS e WHERE e.issue = \(old) AND e.person = o.person)
            """,
        ]
    }

    /// The totals of an issue all of whose reports are stored.
    private static func totals(of issue: Int64) -> PostgresQuery {
        """
        UPDATE analytics.issues AS i SET events = e.events, users = (SELECT count(*) FROM analytics.issue_users WHERE issue = \(issue)),
            level = coalesce(e.level, i.level), first_seen = coalesce(e.first_seen, i.first_seen), last_seen = coalesce(e.last_seen, i.last_seen)
        FROM (SELECT count(*) AS events, max(level) AS level, min(at) AS first_seen, max(at) AS last_seen
            FROM analytics.crash_events WHERE issue = \(issue)) AS e
        WHERE i.id = \(issue)
        """
    }

    /// First and last seen stay as they are if deleted reports may have determined them.
    private static func subtractTotals(of issue: Int64, by other: Int64) -> PostgresQuery {
        """
        UPDATE analytics.issues AS i SET events = greatest(i.events - o.events, 0), users = u.users,
            ignored_until_events = i.ignored_until_events - least(i.events, o.events), ignored_until_users = i.ignored_until_users - greatest(i.users - u.users, 0),
            first_seen = CASE WHEN e.events >= i.events - o.events THEN coalesce(e.first_seen, i.first_seen) ELSE i.first_seen END,
            last_seen = coalesce(e.last_seen, i.last_seen), level = CASE WHEN e.events >= i.events - o.events THEN coalesce(e.level, i.level) ELSE i.level END
        FROM analytics.issues AS o, (SELECT count(*) AS users FROM analytics.issue_users WHERE issue = \(issue)) AS u, (SELECT count(*) AS events, max(level) AS level, min(at) AS first_seen, max(at) AS last_seen
            FROM analytics.crash_events WHERE issue = \(issue)) AS e
        WHERE i.id = \(issue) AND o.id = \(other)
        """
    }

    /// The tags counted for a report, the row `e` with its release `r`: the client's tags, and our own where the client
    /// has none of that name.
    private static let tags: PostgresQuery = """
        LATERAL (
            SELECT key COLLATE "C" AS key, value COLLATE "C" AS value FROM jsonb_each_text(CASE jsonb_typeof(e.content -> 'tags') WHEN 'object' THEN e.content -> 'tags' ELSE '{}' END) AS c (key, value)
            UNION ALL
            SELECT key COLLATE "C", value COLLATE "C" FROM (VALUES
                ('level', \(CrashLevel.name(of: "e.level"))), ('environment', e.stage), ('release', r.name), ('os', e.os), ('device', e.device),
                ('handled', CASE WHEN e.handled THEN 'yes' ELSE 'no' END), ('martlet.config', e.configuration), ('martlet.variants', e.variants)
            ) AS own (key, value) WHERE NOT coalesce(e.content -> 'tags' ? key, FALSE)) AS t
        """
}
