import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

struct DeliveryRecordsTests {
    /// A message with four deliveries, none of which will be sent any more.
    private func prepare(_ app: NotificationsApp) async throws -> UUID {
        let (space, id) = (try await app.space, UUID())
        try await app.postgres.execute(
            """
            INSERT INTO notifications.messages (id, space, author, content, audience, state, is_planned, is_settled, expires)
            VALUES (\(id), \(space.id), 'service', '{"body":"a"}', '{}', 'sent', TRUE, TRUE, now() + interval '1 hour')
            """)
        try await app.postgres.execute(
            """
            INSERT INTO notifications.deliveries (message, installation, space, state, reason, receipt, attempts)
            SELECT \(id), lpad(to_hex(n), 32, '0')::uuid, \(space.id), (ARRAY['accepted', 'failed'])[n % 2 + 1], CASE WHEN n % 2 = 1 THEN '=Unregistered' END,
                CASE WHEN n % 2 = 0 THEN 'r' || n END, 1
            FROM generate_series(1, 4) AS n
            """)
        return id
    }

    @Test func `deliveries are listed in pages, filtered, and as CSV`() async throws {
        try await NotificationsApp.run { app in
            let message = try await prepare(app)
            let path = "/notifications/messages/\(message)/deliveries"
            let first = try await app.master("GET", path + "?limit=3")
            #expect(first["data.0.installation"] == "\"00000000-0000-0000-0000-000000000001\"")
            #expect(first["data.0.reason"] == "\"=Unregistered\"")
            #expect(first["data.1.receipt"] == "\"r2\"")
            #expect(first["data.1.reason"] == nil)
            #expect(first["data.2.state"] == "\"failed\"")
            let next = try #require(first["next"]).dropFirst().dropLast()
            let second = try await app.master("GET", path + "?limit=3&cursor=\(next)")
            #expect(second["data.0.installation"] == "\"00000000-0000-0000-0000-000000000004\"")
            #expect(second["data.1"] == nil)
            #expect(second["next"] == nil || second["next"] == "null")
            let failed = try await app.master("GET", path + "?state=failed")
            #expect(failed["data.1.installation"] == "\"00000000-0000-0000-0000-000000000003\"")
            let lines = try await app.master("GET", path + "/export?state=accepted").text.split(separator: "\r\n")
            #expect(lines.count == 3)
            #expect(lines.first?.hasPrefix(#""installation","state","#) == true)
            #expect(lines.last?.hasPrefix(#""00000000-0000-0000-0000-000000000004","accepted""#) == true)
            // A spreadsheet must not read it as a formula.
            #expect(!(try await app.master("GET", path + "/export")).text.contains(#""=Unregistered""#))
        }
    }

    @Test func `deliveries can be read only with the right to read the app's notifications`() async throws {
        try await NotificationsApp.run { app in
            let message = try await prepare(app)
            let path = "/notifications/messages/\(message)/deliveries"
            for end in ["", "/export"] {
                #expect(try await app.client("GET", path + end).isProblem(.forbidden))
                #expect(try await app.staff("GET", path + end).isProblem(.forbidden))
                #expect(
                    try await app.master("GET", path + end + "?state=lost").isProblem(.invalidParameter, field: "state")
                )
                #expect(
                    try await app.master("GET", "/notifications/messages/\(UUID())/deliveries" + end).isProblem(
                        .messageNotFound))
                #expect(try await app.master("GET", "/notifications/messages/x/deliveries" + end).isProblem(.invalidID))
                var other = app
                other.appID = "app2"
                #expect(try await other.master("GET", path + end).isProblem(.messageNotFound))
            }
            #expect(try await app.master("GET", path + "?cursor=x").isProblem(.invalidParameter, field: "cursor"))
            #expect(try await app.master("GET", path + "?limit=0").isProblem(.invalidParameter, field: "limit"))
        }
    }

    @Test func `messages and their deliveries are counted by day and by month`() async throws {
        try await NotificationsApp.run { app in
            let (message, path) = (try await prepare(app), "/notifications/messages/counts")
            try await app.postgres.execute(
                """
                INSERT INTO notifications.delivery_counts (message, variant, accepted, failed, unknown, opened)
                VALUES (\(message), 0, 2, 1, 0, 1), (\(message), 1, 3, 0, 1, 0)
                """)
            // Two steps, because a day or a month may end during the test.
            let names = ["messages", "accepted", "failed", "unknown", "opened"]
            func sums(_ query: String) async throws -> [Int] {
                let answer = try await app.master("GET", path + query)
                #expect(answer["count"] == "2", "\(answer)")
                return names.map { name in
                    ["data.0.", "data.1."].compactMap { answer[$0 + name].flatMap { Int($0) } }.reduce(0, +)
                }
            }
            #expect(try await sums("?steps=2") == [1, 5, 1, 1, 1])
            // A message without results.
            _ = try await prepare(app)
            #expect(try await sums("?interval=month&steps=2") == [2, 5, 1, 1, 1])
            try await app.postgres.execute("UPDATE notifications.messages SET created = created - interval '5 days'")
            #expect(try await sums("?interval=day&steps=2") == [0, 0, 0, 0, 0])
            #expect(try await app.master("GET", path)["count"] == "30")
            var other = app
            other.appID = "app2"
            #expect(try await other.master("GET", path)["data.29.messages"] == "0")

            #expect(try await app.client("GET", path).isProblem(.forbidden))
            #expect(try await app.staff("GET", path).isProblem(.forbidden))
            for (query, field) in [
                ("interval=hour", "interval"), ("steps=0", "steps"), ("interval=month&steps=37", "steps"),
            ] {
                #expect(try await app.master("GET", path + "?" + query).isProblem(.invalidParameter, field: field))
            }
        }
    }

    @Test func `an app reports that a message opened it, which counts once`() async throws {
        try await NotificationsApp.run { app in
            let (message, secret) = (try await prepare(app), Base64URL.encode([UInt8](repeating: 7, count: 32)))
            let (id, header) = (DeliveryWorld.installation(2), ["Installation-Secret": secret])
            try await app.postgres.execute(
                """
                INSERT INTO notifications.installations (space, id, secret_digest, platform, service)
                SELECT \(try await app.space.id), i, sha256(\(Array(secret.utf8))), 'ios', 'apns' FROM unnest(\([id, DeliveryWorld.installation(9)])) AS i
                """)
            let (path, body) = ("/installations/\(id)/opened", #"{"message":"\#(message)"}"#)
            for _ in 0..<2 { #expect(try await app.client("POST", path, body, headers: header).status == 204) }
            #expect(try await app.service.delivery.records.counts(of: message).map(\.opened) == [1])
            #expect(
                try await app.postgres.query("SELECT FROM notifications.deliveries WHERE opened IS NOT NULL").count == 1
            )

            let wrong = ["Installation-Secret": Base64URL.encode([UInt8](repeating: 8, count: 32))]
            #expect(try await app.client("POST", path, body, headers: wrong).isProblem(.forbidden))
            #expect(try await app.client("POST", path, body).isProblem(.forbidden))
            #expect(
                try await app.client("POST", path, #"{"message":"x"}"#, headers: header).isProblem(
                    .invalidBody, field: "message"))
            #expect(try await app.client("POST", path, "{}", headers: header).isProblem(.invalidBody, field: "message"))
            #expect(
                try await app.client("POST", path, #"{"message":"\#(UUID())"}"#, headers: header).isProblem(
                    .messageNotFound))
            let other = "/installations/\(DeliveryWorld.installation(9))/opened"
            #expect(try await app.client("POST", other, body, headers: header).isProblem(.messageNotFound))
            #expect(
                try await app.postgres.query("SELECT FROM notifications.deliveries WHERE opened IS NOT NULL").count == 1
            )
        }
    }
}
