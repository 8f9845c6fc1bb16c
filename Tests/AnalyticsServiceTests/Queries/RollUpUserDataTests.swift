import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct RollUpUserDataTests {
    private static let user = "0193a000-0000-7000-8000-00000000000f"

    private static func erase(_ app: AnalyticsApp) async throws {
        var after: String?
        repeat {
            let slice = try await app.service.userData.erase(
                UserDataRequest(app: app.appID, environment: app.environment, user: user, after: after))
            after = slice.next
        } while after != nil
    }

    /// The user before and after signing in on a device, together with another user.
    private static func fill(_ app: AnalyticsApp) async throws {
        let now = Date()
        try await app.batch(
            track("a", user: "x", at: now - 3 * 86_400),
            #"{"type":"track","event":"a","anonymousId":"d1","timestamp":"\#((now - 5 * 86_400).ISO8601Format())"}"#)
        try await app.rollUp()
        try await app.batch(
            #"{"type":"identify","userId":"\#(user)","anonymousId":"d1"}"#,
            track("a", user: user, at: now - 3 * 86_400), track("b", user: "y"))
        try await app.rollUp()
    }

    private static func bits(_ app: AnalyticsApp) async throws -> [Int] {
        try await app.postgres.query(
            "SELECT sum(bit_count(members))::bigint FROM analytics.people_sets WHERE dimension IN (0, 1, 100) GROUP BY dimension ORDER BY dimension"
        )
        .map { try $0.decode(0) }
    }

    @Test func `Roll-ups contain nothing about an erased user, and everything about others`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            let before = try await Self.bits(app)
            let export = try await app.service.userData.export(
                UserDataRequest(app: app.appID, environment: app.environment, user: Self.user, after: "rollups:"))
            let line = String(buffer: export.lines)
            #expect(
                line.hasPrefix(#"{"service":"analytics","kind":"presence","data":{"first": "#)
                    && line.contains(#""started": "#), "\(line)")
            try await Self.erase(app)
            // x and y, once each by day, event and hour.
            #expect(before == [5, 4, 5])
            #expect(try await Self.bits(app) == [2, 2, 2])
            let space = try await app.space
            let persons = [Person.account(Self.user, in: space), Person.device("d1", in: space)].map { Int($0) }
            #expect(try await app.count("analytics.person_numbers WHERE person = ANY (\(persons))") == 0)
            for table in ["person_numbers", "person_starts", "sessions"] {
                #expect(
                    try await app.count("\(PostgresIdentifier(schema: "analytics", name: table)!)") == 2, "\(table)")
            }
            // The next person gets none of their data, whatever the number.
            try await app.batch(track("z", user: "new"))
            try await app.rollUp()
            #expect(try await Self.bits(app) == [3, 3, 3])
            // Counts are anonymous and stay.
            #expect(try await app.count("analytics.hours WHERE dimension = 0") > 2)
        }
    }

    @Test func `An erasure also removes what a running roll-up still adds`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            let other = app.database.client(for: "analytics")
            let erasing = try await other.withTransaction { transaction in
                // Simulates a roll-up that has read an event which is erased meanwhile.
                try await transaction.execute("SELECT FROM analytics.rollups FOR UPDATE")
                let erasing = Task { try await Self.erase(app) }
                let person = Int(Person.account(Self.user, in: try await app.space))
                try await eventually("the events are erased") {
                    try await app.count("analytics.events WHERE person = \(person)") == 0
                }
                try await Task.sleep(for: .milliseconds(300))
                try await transaction.execute("UPDATE analytics.person_numbers SET number = number + 16384")
                try await transaction.execute("UPDATE analytics.person_starts SET number = number + 16384")
                try await transaction.execute("UPDATE analytics.people_sets SET chunk = 1")
                return erasing
            }
            try await erasing.value
            #expect(try await Self.bits(app) == [2, 2, 2])
            await other.close()
        }
    }

    @Test func `An erasure includes persons linked to the user through others`() async throws {
        try await AnalyticsApp.run { app in
            let alias = #"{"type":"alias","userId":"\#(Self.user)","previousId":"u1"}"#
            try await app.batch(
                #"{"type":"identify","userId":"u1","anonymousId":"d1"}"#,
                #"{"type":"track","event":"a","anonymousId":"d1"}"#)
            #expect(try await app.master("POST", "/events", #"{"batch":[\#(alias)]}"#)["accepted"] == "1")
            try await app.rollUp()
            try await Self.erase(app)
            #expect(try await app.count("analytics.events") == 0)
            #expect(try await app.count("analytics.people") == 0)
            #expect(try await app.count("analytics.person_numbers") == 0)
        }
    }
}
