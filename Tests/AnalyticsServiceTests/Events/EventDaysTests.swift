import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct EventDaysTests {
    /// Stores an event per number of days ago; the number is also the person.
    private static func fill(_ app: AnalyticsApp, _ days: [Int]) async throws {
        let space = try await app.space
        for day in days {
            try await app.database.withSuperuser { database in
                try await database.execute(
                    "SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date - \(day)::integer)")
                try await database.execute(
                    """
                    INSERT INTO analytics.events SELECT now() - \(day) * interval '1 day', now() - \(day) * interval '1 day', \(day), \(1_000 + day),
                        \(space.id), 0, 0, 0, 0, 0, 0, 0, 1, '{}'
                    """)
            }
        }
    }

    private static func persons(_ app: AnalyticsApp) async throws -> [Int64] {
        try await app.events().map(\.person).sorted()
    }

    private static func days(_ app: AnalyticsApp) async throws -> Int { try await app.count("analytics.events_days()") }

    /// Sweeps like the service: retries if it could not get the lock, which roll-ups may hold.
    static func sweep(_ days: EventDays) async throws {
        try await eventually("the lock is free") {
            do { try await days.sweep() } catch let error as PostgresError where error.sqlState == "55P03" {
                return false
            }
            return true
        }
    }

    @Test func `partitions for today and the next days exist from the start`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.service.events.days.makeAhead()
            try await app.service.events.days.makeAhead()
            #expect(try await Self.days(app) == 4)
            await #expect(throws: PostgresError.self) {
                try await app.postgres.execute("SELECT analytics.make_events_day('2199-01-01')")
            }
            await #expect(throws: PostgresError.self) {
                try await app.postgres.execute("SELECT analytics.drop_events_day((now() AT TIME ZONE 'UTC')::date)")
            }
        }
    }

    @Test func `events past their space's retention are deleted, and no others`() async throws {
        try await AnalyticsApp.run { app async throws in
            let days = app.service.events.days
            var other = app
            other.appID = "app2"
            try await Self.fill(app, [5, 20, 40, 394, 396, 500])
            try await days.makeAhead()
            try await Self.sweep(days)
            #expect(try await Self.persons(app) == [5, 20, 40, 394])
            #expect(try await Self.days(app) == 8)
            #expect(try await app.master("PUT", "/analytics/settings", #"{"retentionDays":30}"#).status == 200)
            try await other.batch(track("other's"))
            try await Self.sweep(days)
            #expect(try await Self.persons(app).count == 3)
            // The other space keeps its events, so the partitions stay.
            #expect(try await Self.days(app) == 8)
            #expect(try await app.count("analytics.spaces WHERE swept = (now() AT TIME ZONE 'UTC')::date - 30") == 1)
            #expect(try await app.master("PUT", "/analytics/settings", #"{"retentionDays":10}"#).status == 200)
            try await Self.sweep(days)
            #expect(try await Self.persons(app).filter { $0 < 1_000 && $0 > 0 } == [5])
            // One space keeps events for longer, so those of the first space are deleted row by row.
            #expect(try await other.master("PUT", "/analytics/settings", #"{"retentionDays":1000}"#).status == 200)
            try await Self.fill(app, [450])
            try await app.postgres.execute("UPDATE analytics.spaces SET swept = '-infinity'")
            try await Self.sweep(days)
            #expect(try await Self.persons(app).filter { $0 < 1_000 && $0 > 0 } == [5])
            #expect(try await Self.days(app) == 9)
        }
    }
}
