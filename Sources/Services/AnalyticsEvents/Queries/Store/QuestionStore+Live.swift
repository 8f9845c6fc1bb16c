import Foundation
import MartletPostgres

extension QuestionStore {
    static let liveMinutes = 30

    /// The current activity, read from the events themselves.
    struct Live: Sendable {
        var events = 0
        var people = 0
        /// The last minutes including the current one, oldest first. Minutes without events are included.
        var minutes: [(start: Date, events: Int, people: Int)] = []
        var topEvents: [(name: String, events: Int)] = []
        var topScreens: [(name: String, events: Int)] = []
    }

    func live(_ space: Space, top limit: Int = 10) async throws -> Live {
        let recent: PostgresQuery =
            """
            recent AS MATERIALIZED (
                SELECT date_trunc('minute', e.at) AS minute, e.kind IN (2, 3) AS screen, e.name, \(Self.who) AS who
                FROM \(Self.source(withPeople: true))
                WHERE e.space = \(space.id) AND e.received > now() - interval '31 minutes'
                    AND e.at >= date_trunc('minute', now()) - make_interval(mins => \(Self.liveMinutes - 1)::int))
            """
        let rows = try await raw(
            """
            WITH \(recent),
            minutes AS (SELECT m FROM generate_series(date_trunc('minute', now()) - make_interval(mins => \(Self.liveMinutes - 1)::int),
                date_trunc('minute', now()), interval '1 minute') AS m)
            SELECT 0, NULL::timestamptz, NULL::text, count(*), count(DISTINCT who) FROM recent
            UNION ALL SELECT 1, m, NULL, count(recent.minute), count(DISTINCT who) FROM minutes LEFT JOIN recent ON recent.minute = m GROUP BY m
            UNION ALL SELECT CASE WHEN screen THEN 3 ELSE 2 END, NULL, (SELECT text FROM analytics.terms WHERE id = name), events, 0 FROM (
                SELECT screen, name, count(*) AS events, row_number() OVER (PARTITION BY screen ORDER BY count(*) DESC, name) AS place
                FROM recent WHERE name <> 0 GROUP BY 1, 2) AS named WHERE place <= \(limit)
            ORDER BY 1, 2, 4 DESC, 3
            """)
        var live = Live()
        for row in rows {
            let events: Int = try row.decode(3), people: Int = try row.decode(4)
            switch try row.decode(0, as: Int.self) {
            case 0: (live.events, live.people) = (events, people)
            case 1: live.minutes.append((try row.decode(1), events, people))
            case 2: live.topEvents.append((try row.decode(2, as: String?.self) ?? "", events))
            default: live.topScreens.append((try row.decode(2, as: String?.self) ?? "", events))
            }
        }
        return live
    }
}
