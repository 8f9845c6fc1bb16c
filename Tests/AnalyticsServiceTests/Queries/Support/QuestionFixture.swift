import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting

@testable import AnalyticsEvents
@testable import AnalyticsService

/// An event as written in a test.
struct TestEvent: Sendable {
    var at: String
    var name: String
    var person: Int
    var kind = EventKind.track
    var release = ""
    var os = ""
    var device = ""
    var country = ""
    var configuration = ""
    var variants = ""
    var properties = "{}"

    init(_ at: String, _ name: String, _ person: Int, _ change: (inout TestEvent) -> Void = { _ in }) {
        self.at = at
        self.name = name
        self.person = person
        change(&self)
    }
}

extension AnalyticsApp {
    /// Stores events as received now, and rolls them up.
    func record(_ events: [TestEvent]) async throws {
        try await insert(events, by: postgres)
        try await rollUp()
    }

    /// Creates today's partition.
    func makeDay() async throws {
        _ = try await postgres.query("SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date)")
    }

    func insert(_ events: [TestEvent], by client: PostgresClient) async throws {
        try await makeDay()
        try await client.withTransaction { try await insert(events, $0) }
    }

    func insert(_ events: [TestEvent], _ transaction: PostgresTransaction) async throws {
        let space = try await space.id
        let terms: [(TermKind, (TestEvent) -> String)] = [
            (.name, \.name), (.release, \.release), (.os, \.os), (.device, \.device), (.configuration, \.configuration),
            (.variants, \.variants),
            (.country, \.country),
        ]
        for (kind, text) in terms {
            try await transaction.execute(
                """
                INSERT INTO analytics.terms (space, kind, text) SELECT DISTINCT \(space), \(kind.rawValue)::int, text FROM unnest(\(events.map(text))) AS text
                WHERE text <> '' ON CONFLICT DO NOTHING
                """)
        }
        func term(_ kind: TermKind, _ column: PostgresQuery) -> PostgresQuery {
            "coalesce((SELECT id FROM analytics.terms WHERE space = \(space) AND kind = \(kind.rawValue) AND text = \(column)), 0)"
        }
        try await transaction.execute(
            """
            INSERT INTO analytics.events (received, at, person, key, space, name, release, os, device, configuration, variants, country, kind, properties)
            SELECT now(), at::timestamptz, person, (random() * 9e18)::bigint, \(space), \(term(.name, "e.name")), \(term(.release, "e.release")),
                \(term(.os, "e.os")), \(term(.device, "e.device")), \(term(.configuration, "e.configuration")), \(term(.variants, "e.variants")),
                \(term(.country, "e.country")), kind, properties::jsonb
            FROM unnest(\(events.map(\.at)), \(events.map(\.person)), \(events.map(\.kind.rawValue)), \(events.map(\.name)), \(events.map(\.release)),
                \(events.map(\.os)), \(events.map(\.device)), \(events.map(\.configuration)), \(events.map(\.variants)), \(events.map(\.country)),
                \(events.map(\.properties)))
                AS e (at, person, kind, name, release, os, device, configuration, variants, country, properties)
            """)
    }

    /// Waits until all events stored so far are rolled up, by any instance.
    func rollUp() async throws {
        let now: Date = try await postgres.query("SELECT clock_timestamp()")[0].decode(0)
        while try await postgres.query("SELECT reached >= \(now) FROM analytics.rollups")[0].decode(0, as: Bool.self)
            == false
        {
            _ = try await service.questions.rollUp.catchUp()
        }
    }

    /// Sets the app's time zone and waits until its days are rebuilt.
    func use(timeZone: String) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.settings (space, retention_days, privacy, is_collecting, time_zone, changed_by)
            VALUES (\(try await space.id), 3650, 'standard', true, \(timeZone), 'test')
            ON CONFLICT (space) DO UPDATE SET time_zone = excluded.time_zone
            """)
        while try await rolledTimeZone() != timeZone { _ = try await service.questions.rollUp.store.followTimeZone() }
    }

    /// Empty while days are being rebuilt.
    private func rolledTimeZone() async throws -> String {
        try await postgres.query(
            """
            SELECT coalesce((SELECT CASE WHEN again_to IS NULL THEN time_zone ELSE '' END FROM analytics.rolled_spaces WHERE space = \(try await space.id)), 'UTC')
            """)[0].decode(0)
    }

    /// The lines of a CSV answer, without the header and without quotes.
    func ask(_ question: String, _ body: String? = nil) async throws -> [String] {
        let answer = try await master(
            body == nil ? "GET" : "POST",
            "/analytics/" + question + (question.contains("?") ? "&" : "?") + "format=csv", body)
        guard answer.status == 200 else { return ["\(answer)"] }
        return answer.text.replacing("\"", with: "").split(separator: "\r\n").dropFirst().map(String.init)
    }
}
