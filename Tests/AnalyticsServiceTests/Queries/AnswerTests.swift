import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

/// Compares answers with plain SQL on the events, as in docs/how-to/ask-analytics.md.
@Suite struct AnswerTests {
    /// In all but two zones, the clock changes within the days of the questions: by half an hour on Lord Howe on
    /// 2025-10-05, back by an hour in Dublin on 2025-10-26 and in New York on 2025-11-02.
    private static let zones = ["UTC", "Europe/Dublin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
    private static let (from, to) = ("2025-09-29", "2025-11-09")

    private struct Chosen {
        var generator: SeededGenerator

        mutating func one<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: values.indices, using: &generator)]
        }

        /// Mostly at any time within seven weeks, some at midnight or a second before it in one of the zones, and many
        /// shortly after one another.
        mutating func event(_ persons: [Int]) -> TestEvent {
            let midnight = one([
                0, 1_800, 3_600, 13 * 3_600, 13 * 3_600 + 1_800, 18 * 3_600 + 1_800, 4 * 3_600, 5 * 3_600, 23 * 3_600,
            ])
            let second = one([
                one([0, -1]) + midnight, Int.random(in: 0..<86_400, using: &generator),
                one([0, 900, 1_799, 1_800, 1_801, 3_600]) + 12 * 3_600,
            ])
            // 2025-09-28T00:00:00Z
            let time = 1_759_017_600 + Int.random(in: 0..<44, using: &generator) * 86_400 + second
            let kind = one([EventKind.track, .track, .track, .screen, .page, .identify])
            let name = kind == .identify ? "" : kind == .track ? one(["a", "b", "c"]) : one(["Home", "Start", "a"])
            return TestEvent("", name, one(persons)) {
                $0.at = AnswerTests.text(time)
                $0.kind = kind
                $0.release = one(["1.0", "1.1", ""])
                $0.country = one(["IE", "US", "IN", ""])
                $0.properties = one([#"{"plan":"pro"}"#, #"{"plan":"free"}"#, "{}"])
            }
        }
    }

    private static func text(_ seconds: Int) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    /// Three devices that belong to accounts, one of them only later; 0 is nobody.
    private static func fill(_ app: AnalyticsApp, seed: UInt64) async throws {
        var chosen = Chosen(generator: SeededGenerator(state: seed))
        let id = try await app.space.id
        try await app.postgres.execute(
            "INSERT INTO analytics.people (space, person, account) VALUES (\(id), 101, 1), (\(id), 102, 1)")
        try await app.record((0..<150).map { _ in chosen.event([0, 1, 3, 4, 101, 102, 103]) })
        try await app.postgres.execute("INSERT INTO analytics.people (space, person, account) VALUES (\(id), 103, 2)")
        // Events that happened earlier also arrive later.
        for _ in 0..<3 { try await app.record((0..<80).map { _ in chosen.event([0, 1, 2, 3, 5, 101, 102, 103]) }) }
    }

    /// A CTE `e` of events with their person and their day in a time zone.
    private static func base(_ app: AnalyticsApp, _ zone: String) async throws -> PostgresQuery {
        """
        WITH e AS (
            SELECT v.*, coalesce(p.account, nullif(v.person, 0)) AS who, (v.at AT TIME ZONE \(zone))::date AS day
            FROM analytics.events AS v LEFT JOIN analytics.people AS p ON p.space = v.space AND p.person = v.person AND p.account <> 0
            WHERE v.space = \(try await app.space.id))
        """
    }

    private static func label(_ interval: String, _ day: PostgresQuery = "day") -> PostgresQuery {
        switch interval {
        case "none": "\(from)::text"
        case "day": "\(day)::text"
        default: "greatest(date_trunc(\(interval)::text, \(day)::timestamp)::date, \(from)::text::date)::text"
        }
    }

    private static let asked: PostgresQuery = "day BETWEEN \(from)::text::date AND \(to)::text::date"

    private static func lines(_ app: AnalyticsApp, _ query: PostgresQuery) async throws -> [String] {
        var query = query
        query.isPrepared = false
        return try await app.postgres.query(query).map { try $0.decode(0) }.sorted()
    }

    private static func query(_ interval: String, _ zone: String) -> String {
        "from=\(from)&to=\(to)&interval=\(interval)&timeZone=\(zone)"
    }

    private static func term(_ column: StaticString) -> PostgresQuery {
        "(SELECT text FROM analytics.terms WHERE id = e.\(unescaped: column))"
    }

    private static let groups: [(name: String, value: PostgresQuery, condition: PostgresQuery)] = [
        ("", "''", "TRUE"), ("&group=event", term("name"), "kind NOT IN (2, 3) AND name <> 0"),
        ("&group=screen", term("name"), "kind IN (2, 3) AND name <> 0"),
        ("&group=release", term("release"), "TRUE"), ("&group=country", term("country"), "TRUE"),
        ("&group=property&property=plan", "properties ->> 'plan'", "TRUE"),
    ]

    @Test(arguments: zones)
    func `Counts, people, sessions and retention agree with the events in every time zone`(
        _ own: String
    ) async throws {
        try await AnalyticsApp.run { app in
            let seed = UInt64.random(in: .min ... .max)
            try await app.use(timeZone: own)
            try await Self.fill(app, seed: seed)
            for zone in Self.zones {
                for interval in ["day", "week", "month", "none"] {
                    try await Self.compareCounts(app, interval, zone, "seed \(seed)")
                    try await Self.comparePeople(app, interval, zone, "seed \(seed)")
                }
                for day in ["2025-10-05", "2025-10-26", "2025-11-02"] {
                    try await Self.compareHours(app, day, zone, "seed \(seed)")
                }
            }
            for interval in ["day", "week", "month"] {
                try await Self.compareRetention(app, interval, own, "seed \(seed)")
            }
        }
    }

    private static func compareCounts(_ app: AnalyticsApp, _ interval: String, _ zone: String, _ seed: String)
        async throws
    {
        let base = try await base(app, zone)
        for group in groups {
            for event in ["", "a"] {
                let name: PostgresQuery = event.isEmpty ? "TRUE" : "\(term("name")) = \(event)"
                let counts: PostgresQuery =
                    """
                    \(base) SELECT concat_ws(',', label, coalesce(value, ''), 'false', count(*), count(DISTINCT who))
                    FROM (SELECT \(label(interval)) AS label, \(group.value) AS value, who FROM e WHERE \(asked) AND \(group.condition) AND \(name)) AS found
                    GROUP BY label, value
                    """
                let expected = try await lines(app, counts)
                let question =
                    "counts?limit=100&" + query(interval, zone) + group.name + (event.isEmpty ? "" : "&event=" + event)
                let people = try await app.ask(question + "&people=true").sorted()
                #expect(people == expected, "\(question) \(seed)")
                let alone = try await app.ask(question).sorted()
                let withoutPeople = expected.map { line in String(line[...(line.lastIndex(of: ",") ?? line.startIndex)])
                }.sorted()
                #expect(alone == withoutPeople, "\(question) \(seed)")
            }
        }
    }

    private static func comparePeople(_ app: AnalyticsApp, _ interval: String, _ zone: String, _ seed: String)
        async throws
    {
        let base = try await base(app, zone)
        let expected = try await lines(
            app,
            """
            \(base), firsts AS (SELECT who, min(day) AS day FROM e WHERE who IS NOT NULL GROUP BY who),
            active AS (SELECT \(label(interval)) AS label, count(DISTINCT who) AS active FROM e WHERE \(asked) GROUP BY 1),
            new AS (SELECT \(label(interval)) AS label, count(*) AS new FROM firsts WHERE \(asked) GROUP BY 1)
            SELECT concat_ws(',', label, active, coalesce(new, 0)) FROM active LEFT JOIN new USING (label) WHERE active > 0
            """)
        let question = "people?" + query(interval, zone)
        let people = try await app.ask(question).filter { !$0.hasSuffix(",0,0") }.sorted()
        #expect(people == expected, "\(question) \(seed)")
        // `1.5` here and `1.5000` there.
        let sessions = try await app.postgres.query(
            """
            \(base), marked AS (
                SELECT who, at, coalesce(at - lag(at) OVER (PARTITION BY who ORDER BY at) > interval '30 minutes', TRUE) AS is_first FROM e WHERE who IS NOT NULL),
            placed AS (SELECT who, at, count(*) FILTER (WHERE is_first) OVER (PARTITION BY who ORDER BY at) AS place FROM marked),
            sessions AS (SELECT (min(at) AT TIME ZONE \(zone))::date AS day, extract(epoch FROM max(at) - min(at))::bigint AS seconds FROM placed GROUP BY who, place)
            SELECT \(label(interval)), count(*), sum(seconds)::bigint FROM sessions WHERE \(asked) GROUP BY 1
            """
        ).map { row in
            let count: Int = try row.decode(1), seconds: Int = try row.decode(2)
            return
                "\(try row.decode(0, as: String.self)),\(count),\(Double(seconds * 1_000_000) / Double(count) / 1_000_000)"
        }.sorted()
        let answer = try await app.ask("sessions?" + query(interval, zone)).filter { !$0.hasSuffix(",0,") }.sorted()
        #expect(answer == sessions, "sessions \(interval) \(zone) \(seed)")
    }

    /// A day has 23, 23.5, 24, 24.5 or 25 hours, and the last one may be half an hour.
    private static func compareHours(_ app: AnalyticsApp, _ day: String, _ zone: String, _ seed: String) async throws {
        let expected = try await app.postgres.query(
            """
            \(try await base(app, zone)), ends AS (
                SELECT \(day)::text::date::timestamp AT TIME ZONE \(zone) AS first, (\(day)::text::date + 1)::timestamp AT TIME ZONE \(zone) AS last)
            SELECT (SELECT count(DISTINCT who) FROM e WHERE e.at >= hour AND e.at < least(hour + interval '1 hour', last))
            FROM ends, generate_series(0, ceil(extract(epoch FROM last - first) / 3600)::int - 1) AS n, LATERAL (SELECT first + n * interval '1 hour' AS hour) AS h
            ORDER BY n
            """
        ).map { try $0.decode(0, as: Int.self) }
        let hours = try await app.ask("people?interval=hour&from=\(day)&to=\(day)&timeZone=\(zone)")
        #expect(hours.map { Int($0.split(separator: ",")[1]) } == expected, "\(day) \(zone) \(seed)")
    }

    private static func compareRetention(_ app: AnalyticsApp, _ interval: String, _ zone: String, _ seed: String)
        async throws
    {
        let place: (PostgresQuery) -> PostgresQuery = { day in
            switch interval {
            case "day": "(\(day) - \(from)::text::date)"
            case "week":
                "((date_trunc('week', \(day)::timestamp)::date - date_trunc('week', \(from)::text::timestamp)::date) / 7)"
            default: "(extract(year FROM \(day))::int * 12 + extract(month FROM \(day))::int - 2025 * 12 - 9)"
            }
        }
        let expected = try await lines(
            app,
            """
            \(try await base(app, zone)), firsts AS (SELECT who, min(day) AS first FROM e WHERE who IS NOT NULL GROUP BY who)
            SELECT concat_ws(',', label, period, count(DISTINCT who)) FROM (
                SELECT \(label(interval, "first")) AS label, \(place("day")) - \(place("first")) AS period, who
                FROM e JOIN firsts USING (who) WHERE \(asked) AND first >= \(from)::text::date) AS found
            GROUP BY label, period
            """)
        let question = "retention?" + query(interval, zone)
        let answer = try await app.ask(question)
        let rows = answer.map { line in line.split(separator: ",").map(String.init) }
        let returned: [String] = rows.filter { $0.last != "0" }.map { row in row[0] + "," + row[2] + "," + row[3] }
        #expect(returned.sorted() == expected, "\(question) \(seed)")
        // Every row of a cohort repeats its size, which is also its first value.
        #expect(rows.allSatisfy { $0[2] != "0" || $0[1] == $0[3] }, "\(question) \(seed)")
    }
}
