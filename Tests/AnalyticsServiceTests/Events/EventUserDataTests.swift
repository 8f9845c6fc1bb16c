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

@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct EventUserDataTests {
    private static let user = "0193a000-0000-7000-8000-00000000000f"

    private static func request(_ app: AnalyticsApp, after: String? = nil) -> UserDataRequest {
        UserDataRequest(app: app.appID, environment: app.environment, user: user, after: after)
    }

    /// Stores events of the user and of another user, and more old events of the user than one call erases.
    private static func fill(_ app: AnalyticsApp) async throws {
        try await app.batch(#"{"type":"track","event":"anonymous","anonymousId":"d1"}"#)
        try await app.batch(
            #"{"type":"identify","userId":"\#(user.uppercased())","anonymousId":"d1","traits":{"name":"Ann"}}"#,
            track("own", user: user), track("other's", user: "x"))
        _ = try await app.client("POST", "/events", #"{"batch":[{"type":"track","event":"signed in"}]}"#, user: user)
        let space = try await app.space
        try await app.database.withSuperuser { database in
            try await database.execute("SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date - 300)")
            try await database.execute(
                """
                INSERT INTO analytics.events SELECT now() - interval '300 days', now() - interval '300 days', \(Int(Person.account(user, in: space))), number,
                    \(space.id), 0, 0, 0, 0, 0, 0, 0, 1, '{"old":true}' FROM generate_series(1, 700) AS number
                """)
        }
    }

    @Test func `all events of a user and their devices are erased, and no others`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await Self.fill(app)
            let holder = app.service.userData
            var (erased, after, calls): ([String: Int], String?, Int) = ([:], nil, 0)
            repeat {
                let slice = try await holder.erase(Self.request(app, after: after))
                erased.merge(slice.erased) { $0 + $1 }
                (after, calls) = (slice.next, calls + 1)
            } while after != nil && calls < 20
            // The events may or may not have been rolled up by then.
            erased["rollUps"] = nil
            #expect(erased == ["events": 704, "people": 2] && calls > 1, "\(erased) \(calls)")
            #expect(try await app.events().map(\.name) == ["other's"])
            #expect(try await app.count("analytics.people") == 0)
            #expect(try await holder.erase(Self.request(app)).erased == [:])
        }
    }

    @Test func `all events of a user are exported once`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await Self.fill(app)
            let holder = app.service.userData
            var (lines, after): ([Substring], String?) = ([], nil)
            repeat {
                let portion = try await holder.export(Self.request(app, after: after))
                lines += String(buffer: portion.lines).split(separator: "\n")
                after = portion.next
            } while after != nil && lines.count < 2_000
            lines.removeAll { $0.contains(#""kind":"presence""#) }
            #expect(lines.count == 706 && Set(lines).count == 706)
            #expect(lines.filter { $0.hasPrefix(#"{"service":"analytics","kind":"person""#) }.count == 2)
            #expect(
                lines.contains { $0.contains(#""type": "anonymous""#) }
                    && lines.contains { $0.contains(#""name": "Ann""#) })
            #expect(!lines.contains { $0.contains("other's") })
        }
    }

    @Test func `a device's opt-out survives the erasure of its account`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(#"{"type":"identify","userId":"\#(Self.user)","anonymousId":"d1"}"#)
            #expect(try await app.client("PUT", "/events/opt-out?anonymousId=d1").status == 200)
            var after: String?
            repeat {
                after = try await app.service.userData.erase(Self.request(app, after: after)).next
            } while after != nil
            #expect(try await app.client("GET", "/events/opt-out?anonymousId=d1")["isOptedOut"] == "true")
            #expect(try await app.count("analytics.people WHERE account <> 0") == 0)
        }
    }

    @Test(arguments: ["", "x", "events:2026", "events:2026-02-30", "events:x/1", "rollups:x", "rollups:-1", "other:"])
    func `an invalid position is refused`(_ after: String) async throws {
        try await AnalyticsApp.run { app async throws in
            await #expect { try await app.service.userData.erase(Self.request(app, after: after)) } throws: {
                ($0 as? ServiceError)?.field == "after"
            }
            // The data in roll-ups fit into one page.
            guard !after.hasPrefix("rollups") else { return }
            await #expect { try await app.service.userData.export(Self.request(app, after: after)) } throws: {
                ($0 as? ServiceError)?.field == "after"
            }
        }
    }
}
