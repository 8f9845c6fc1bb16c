import MartletPostgres

extension RollUpStore {
    /// Merges the batch's events into sessions. Events may arrive in any order.
    ///
    /// A session is a run of a person's events with gaps of at most 30 minutes. The batch is first grouped into
    /// sessions. The stored sessions that they touch are deleted, merged with them and inserted again, and the counts
    /// by quarter of an hour are updated.
    static func mergeSessions(_ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            WITH marked AS (
                SELECT b.space, n.number, b.at, b.at - lag(b.at) OVER (PARTITION BY b.space, n.number ORDER BY b.at) > interval '30 minutes' AS is_first
                FROM analytics.batch AS b JOIN analytics.person_numbers AS n ON n.space = b.space AND n.person = b.person),
            counted AS (SELECT space, number, at, count(*) FILTER (WHERE is_first) OVER (PARTITION BY space, number ORDER BY at) AS place FROM marked),
            new AS MATERIALIZED (
                SELECT space, number, min(at) AS started, max(at) AS ended FROM counted GROUP BY space, number, place),
            touched AS MATERIALIZED (
                DELETE FROM analytics.sessions AS s USING new
                WHERE s.space = new.space AND s.number = new.number
                    AND s.started <= new.ended + interval '30 minutes' AND s.ended >= new.started - interval '30 minutes'
                RETURNING s.space, s.number, s.started, s.ended),
            united AS (SELECT * FROM new UNION ALL SELECT * FROM touched),
            united_marked AS (
                SELECT *, started - max(ended) OVER (PARTITION BY space, number ORDER BY started, ended
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) > interval '30 minutes' AS is_first FROM united),
            united_counted AS (
                SELECT *, count(*) FILTER (WHERE is_first) OVER (PARTITION BY space, number ORDER BY started, ended ROWS UNBOUNDED PRECEDING) AS place
                FROM united_marked),
            merged AS MATERIALIZED (
                SELECT space, number, min(started) AS started, max(ended) AS ended FROM united_counted GROUP BY space, number, place),
            kept AS (INSERT INTO analytics.sessions (space, number, started, ended) SELECT space, number, started, ended FROM merged RETURNING 1)
            INSERT INTO analytics.session_quarters (space, quarter, sessions, microseconds)
            SELECT space, floor(extract(epoch FROM started) / 900)::int, sum(change), sum(change * (extract(epoch FROM ended - started) * 1000000)::bigint)
            FROM (SELECT 1 AS change, * FROM merged UNION ALL SELECT -1, * FROM touched) AS changes GROUP BY 1, 2
            ON CONFLICT (space, quarter) DO UPDATE SET sessions = session_quarters.sessions + excluded.sessions,
                microseconds = session_quarters.microseconds + excluded.microseconds
            """, timeout: timeout)
    }
}
