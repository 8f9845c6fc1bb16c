import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService
@testable import AnalyticsShared

/// Checks that nothing is left of an erased user, by searching every row of every table.
@Suite struct ErasureTests {
    private static let user = "0193a000-0000-7000-8000-0000000e5a5e"
    private static let (device, email, name) = ("device-of-the-erased", "erased@example.org", "Erasmus Gone")

    /// Every kind of data a user can leave: events before and after signing in, on two devices, untracked events, an
    /// alias; reports, sessions, feedback.
    private static func fill(_ app: AnalyticsApp) async throws {
        try await app.batch(
            #"{"type":"track","event":"a","anonymousId":"\#(device)"}"#, track("a", user: "somebody else"))
        try await app.rollUp()
        try await app.batch(
            #"{"type":"identify","userId":"\#(user)","anonymousId":"\#(device)","traits":{"name":"\#(name)","email":"\#(email)"}}"#,
            track("b", user: user.uppercased(), #","properties":{"email":"\#(email)"}"#))
        try await app.batch(track("b", user: user), headers: ["DNT": "1"])
        _ = try await app.master(
            "POST", "/events",
            #"{"batch":[{"type":"alias","userId":"\#(user)","previousId":"former"},{"type":"track","event":"c","userId":"former"}]}"#
        )
        _ = try await app.client(
            "POST", "/events", #"{"batch":[{"type":"track","event":"d"}]}"#, user: user,
            headers: ["X-Device-Id": device + "-2"])
        try await app.rollUp()
        let event = "11112222333344445555666677778888"
        try await app.report(TestEnvelope.crash(in: "f", release: "a@1.0", user: user, id: event))
        try await app.report(TestEnvelope.crash(in: "f", release: "a@1.0", user: "somebody else"))
        _ = try await app.envelope([
            (
                "session",
                #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","did":"\#(user)","status":"crashed","attrs":{"release":"a@1.0","environment":"prod"}}"#
            )
        ])
        try await app.digested()
        let feedback = #"{"message":"It froze, says \#(name)","name":"\#(name)","email":"\#(email)","id":"f1""#
        _ = try await app.client("POST", "/feedback", feedback + "}", user: user)
        _ = try await app.client(
            "POST", "/feedback", feedback.replacing("f1", with: "f2") + #","eventId":"\#(event)"}"#)
    }

    /// The texts to search for: ids and the numbers derived from them, as text and in hexadecimal.
    private static func needles(_ app: AnalyticsApp) async throws -> [String] {
        let space = try await app.space
        let persons =
            [Person.account(user, in: space), Person.account("former", in: space)]
            + [device, device + "-2"].map { Person.device($0, in: space) }
        let daily = try await app.service.events.salts.all().flatMap { salt in
            persons.map { Person.visitor("\($0)", salt: salt, in: space) }
        }
        let numbers = (persons + daily).flatMap {
            ["\($0)", Hexadecimal.text(withUnsafeBytes(of: $0.bigEndian) { Array($0) })]
        }
        return numbers + [user, user.uppercased(), user.replacing("-", with: ""), device, email, name]
    }

    /// The tables with a row that contains one of the needles; partitions are named by their parent.
    private static func found(_ app: AnalyticsApp, _ needles: [String]) async throws -> Set<String> {
        try await app.database.withSuperuser { database in
            let tables = try await database.query(
                """
                SELECT c.relname::text, coalesce(i.inhparent::regclass::text, c.oid::regclass::text) FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
                WHERE c.relnamespace = 'analytics'::regnamespace AND c.relkind IN ('r', 'm')
                """)
            #expect(tables.count > 40)
            var found = Set<String>()
            for row in tables {
                let table = PostgresIdentifier(schema: "analytics", name: try row.decode(0))!
                let count: Int = try await database.query(
                    "SELECT count(*) FROM \(table) AS t WHERE EXISTS (SELECT FROM unnest(\(needles)) AS needle WHERE position(needle IN t::text) > 0)"
                )[0].decode(0)
                if count > 0 { found.insert(try row.decode(1)) }
            }
            return found
        }
    }

    /// The bits of these numbers.
    private static func bits(_ app: AnalyticsApp, of numbers: [Int]) async throws -> Int {
        try await app.postgres.query(
            """
            SELECT count(*) FROM analytics.people_sets AS s, unnest(\(numbers)) AS number
            WHERE s.chunk = number >> 14 AND get_bit(s.members, (number & 16383)::int) = 1
            """)[0].decode(0)
    }

    @Test func `nothing about an erased user is left in any row of any table`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            let needles = try await Self.needles(app)
            let before = try await Self.found(app, needles)
            let held: Set<String> = [
                "events", "people", "person_numbers", "crash_events", "issue_users", "crash_session_users",
                "ticket_feedback", "tickets",
            ]
            #expect(before.isSuperset(of: held.map { "analytics." + $0 }), "\(before)")
            let numbers: [Int] = try await app.postgres.query(
                "SELECT DISTINCT number FROM analytics.person_numbers WHERE person::text = ANY (\(needles))"
            ).map { try $0.decode(0) }
            let (users, all) = (try await Self.bits(app, of: numbers), try await app.count("analytics.person_starts"))
            #expect(!numbers.isEmpty && users > 10 && all > numbers.count)

            var after: String?
            repeat {
                after = try await app.service.userData.erase(
                    UserDataRequest(app: app.appID, environment: app.environment, user: Self.user, after: after)
                ).next
            } while after != nil
            let left = try await Self.found(app, needles)
            #expect(left == [], "\(left)")
            #expect(try await Self.bits(app, of: numbers) == 0)
            #expect(try await app.count("analytics.person_starts WHERE number = ANY (\(numbers))") == 0)
            #expect(try await app.count("analytics.sessions WHERE number = ANY (\(numbers))") == 0)
            // Other users' data are still there.
            let others = [
                try await app.count("analytics.events"), try await app.count("analytics.crash_events"),
                try await app.count("analytics.person_starts"),
            ]
            #expect(others == [1, 1, all - numbers.count])
            // Later events of the user's devices are not linked to the user.
            try await app.batch(#"{"type":"track","event":"later","anonymousId":"\#(Self.device)"}"#)
            let events = try await app.events()
            #expect(events.last?.person == Person.device(Self.device, in: try await app.space))
        }
    }
}
