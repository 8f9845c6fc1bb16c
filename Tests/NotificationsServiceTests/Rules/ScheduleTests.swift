import Foundation
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

@Suite struct ScheduleTests {
    @Test(arguments: [
        ("0 8 * * *", "UTC", "2026-11-22T08:00:00Z", "2026-11-23T08:00:00Z"),
        ("0 8 * * *", "UTC", "2026-11-22T07:59:59Z", "2026-11-22T08:00:00Z"),
        ("*/15 * * * *", "UTC", "2026-11-22T08:46:00Z", "2026-11-22T09:00:00Z"),
        ("30 9-17/4 * * 1-5", "UTC", "2026-11-20T14:00:00Z", "2026-11-20T17:30:00Z"),
        ("30 9-17/4 * * 1-5", "UTC", "2026-11-20T18:00:00Z", "2026-11-23T09:30:00Z"),
        ("0 0 1,15 * *", "UTC", "2026-11-15T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("0 0 13 * 5", "UTC", "2026-11-14T00:00:00Z", "2026-11-20T00:00:00Z"),
        ("0 0 29 2 *", "UTC", "2026-11-14T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 12 * * 7", "UTC", "2026-11-23T00:00:00Z", "2026-11-29T12:00:00Z"),
        ("0 8 * * *", "Europe/Berlin", "2026-11-22T08:00:00Z", "2026-11-23T07:00:00Z"),
        ("0 8 * * *", "Europe/Berlin", "2026-07-01T08:00:00Z", "2026-07-02T06:00:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
    ])
    func `cron expressions follow the clock of a time zone`(text: String, zone: String, after: String, next: String)
        throws
    {
        let expression = try #require(CronExpression(text))
        let found = expression.next(
            after: try #require(Date(rfc3339: after)), in: try #require(TimeZone(identifier: zone)))
        #expect(found == Date(rfc3339: next))
    }

    @Test(arguments: [
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *",
        "*/0 * * * *", "a * * * *", "1,,2 * * * *", "-1 * * * *",
    ])
    func `invalid cron expressions are refused`(text: String) {
        #expect(CronExpression(text) == nil)
    }

    @Test func `a rule acts once at each due time, on any number of instances`() async throws {
        try await NotificationsApp.run { app in
            // Every four weeks, so that nothing becomes due during the test.
            let body =
                #"{"when":{"every":{"minutes":40320}},"to":[{"audience":{"everyone":true}}],"content":{"title":"{{at}}"}}"#
            #expect(try await app.master("PUT", "/notifications/rules/tick", body).status == 201)
            func count() async throws -> Int {
                try await app.postgres.query("SELECT count(*) FROM notifications.messages")[0].decode(0)
            }
            let clock = app.service.rules.clock
            try await clock.runDueRules(at: Date())
            #expect(try await count() == 0)
            let period: TimeInterval = 40_320 * 60
            let later = Date(timeIntervalSinceNow: period + 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await clock.runDueRules(at: later) } }
                try await group.waitForAll()
            }
            #expect(try await count() == 1)
            // A missed time is made up for once.
            let muchLater = Date(timeIntervalSinceNow: 4 * period)
            for _ in 0..<2 { try await clock.runDueRules(at: muchLater) }
            #expect(try await count() == 2)
            #expect(try await app.master("GET", "/notifications/rules/tick")["acted"] == "2")
        }
    }
}
