import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import NotificationsService

@Suite struct ManagedInstallationTests {
    private static let user = "0193a000-0000-7000-8000-0000000000aa"
    private static let other = "0193a000-0000-7000-8000-0000000000bb"

    /// Creates four devices, ordered by id.
    private func makeDevices(_ app: NotificationsApp) async throws -> [TestDevice] {
        let devices = (0..<4).map { _ in TestDevice() }.sorted { $0.id < $1.id }
        try await app.ask(
            "PUT", devices[0], TestDevice.ios(sandbox: true, more: #","appVersion":"1.0","channels":["news"]"#),
            user: Self.user)
        try await app.ask("PUT", devices[1], TestDevice.ios(more: #","appVersion":"2.0","channels":["news","sport"]"#))
        try await app.ask(
            "PUT", devices[2], #"{"platform":"android","push":{"service":"fcm","token":"t"},"appVersion":"2.0"}"#,
            user: Self.user)
        try await app.ask("PUT", devices[3], #"{"platform":"web"}"#)
        return devices
    }

    @Test func `the team lists devices by each filter, page by page`() async throws {
        try await NotificationsApp.run { app in
            let devices = try await makeDevices(app)
            let cases: [(String, [Int])] = [
                ("", [0, 1, 2, 3]), ("?user=\(Self.user)", [0, 2]), ("?channel=news", [0, 1]),
                ("?platform=ios", [0, 1]), ("?service=fcm", [2]),
                ("?platform=ios&sandbox=true", [0]), ("?platform=ios&sandbox=false", [1]), ("?hasToken=false", [3]),
                ("?hasToken=true", [0, 1, 2]),
                ("?appVersion=2.0", [1, 2]), ("?seenFrom=2100-01-01T00:00:00Z", []),
                ("?seenTo=2100-01-01T00:00:00Z", [0, 1, 2, 3]), ("?user=nobody", []),
            ]
            for (query, expected) in cases {
                let answer = try await app.master("GET", "/notifications/installations" + query)
                #expect(
                    answer.status == 200 && installations(answer) == expected.map { devices[$0].id },
                    "\(query): \(answer)")
            }
            let first = try await app.master("GET", "/notifications/installations?limit=3")
            #expect(installations(first) == devices[..<3].map(\.id) && first["next"] == "\"\(devices[2].id)\"")
            let second = try await app.master("GET", "/notifications/installations?limit=3&cursor=\(devices[2].id)")
            #expect(installations(second) == [devices[3].id] && second["next"] == nil)
            for query in [
                "?platform=x", "?service=x", "?sandbox=1", "?limit=0", "?limit=501", "?cursor=x", "?user=",
                "?colour=red", "?seenFrom=yesterday",
            ] {
                let field = String(query.dropFirst().prefix { $0 != "=" })
                #expect(
                    try await app.master("GET", "/notifications/installations" + query).isProblem(
                        .invalidParameter, field: field), "\(query)")
            }
            let counts = try await app.master("GET", "/notifications/installations/counts?hasToken=true")
            #expect(
                counts["data.0"]
                    == #"{"installations":1,"platform":"android","sandbox":false,"service":"fcm","users":1,"withToken":1}"#
                    && counts["count"] == "3", "\(counts)")
        }
    }

    @Test func `the team reads and removes a device, which may register again`() async throws {
        try await NotificationsApp.run { app in
            let device = try await makeDevices(app)[0]
            let path = "/notifications" + device.path
            let reading = StaffRights(["app1": [.notifications: [.read]]])
            let read = try await app.staff("GET", path, rights: reading)
            #expect(
                read.status == 200 && read["id"] == "\"\(device.id)\"" && !read.text.contains(device.secret), "\(read)")
            #expect(try await app.staff("DELETE", path, rights: reading).isProblem(.forbidden))
            #expect(try await app.client("GET", path).isProblem(.forbidden))
            #expect(try await app.countInstallations() == 4)
            #expect(try await app.master("DELETE", path).status == 204)
            for method in ["GET", "DELETE"] {
                #expect(try await app.master(method, path).isProblem(.installationNotFound))
            }
            #expect(try await app.master("GET", "/notifications/installations/x").isProblem(.invalidID))
            #expect(try await app.ask("PUT", device, TestDevice.ios()).status == 201)
        }
    }

    @Test func `a user's devices are exported and erased, and no one else's`() async throws {
        try await NotificationsApp.run { app in
            _ = try await makeDevices(app)
            let holder = app.service.userData
            let request = UserDataRequest(app: "app1", environment: .live, user: Self.user)
            var portion = try await holder.export(request)
            let lines = String(buffer: portion.lines).split(separator: "\n").compactMap {
                try? JSONValue(parsing: $0.utf8)
            }
            #expect(
                lines.count == 2
                    && lines.allSatisfy {
                        $0["kind"] == .string("installation") && $0["data"]?["user"] == .string(Self.user)
                    })
            while let next = portion.next {
                portion = try await holder.export(
                    UserDataRequest(app: "app1", environment: .live, user: Self.user, after: next))
            }
            var erased = 0
            var next: String?
            repeat {
                let erasure = try await holder.erase(
                    UserDataRequest(app: "app1", environment: .live, user: Self.user, after: next))
                erased += erasure.erased["installations"] ?? 0
                next = erasure.next
            } while next != nil
            #expect(erased == 2)
            #expect(try await app.countInstallations() == 2)
            #expect(try await app.master("GET", "/notifications/installations?user=\(Self.user)")["count"] == "0")
            await #expect(throws: ServiceError.self) {
                _ = try await holder.erase(UserDataRequest(app: "app1", environment: .live, user: "x"))
            }
        }
    }

    @Test func `deliveries to an erased user still count, but no longer name a device`()
        async throws
    {
        try await NotificationsApp.run { app in
            let (theirs, others) = (TestInstallation(1, user: Self.user), TestInstallation(2, user: Self.other))
            try await app.install([theirs, others])
            let space = try await app.space
            // More than two slices of opened messages, and one that waits.
            try await app.postgres.execute(
                """
                WITH made AS (
                    INSERT INTO notifications.messages (id, space, author, content, audience, state, expires, is_planned, planned, is_settled, finished)
                    SELECT gen_random_uuid(), \(space.id), 'key:1', '{"body":"b"}', '{"everyone":true}', 'sent', now(), TRUE, 2, TRUE, now()
                    FROM generate_series(1, \(InstallationUserData.deliveriesPerSlice * 2 + 3)) RETURNING id)
                INSERT INTO notifications.deliveries (message, installation, space, state, receipt, opened)
                SELECT made.id, i.id, \(space.id), 'accepted', 'r', now() FROM made, unnest(\([theirs.id, others.id])) AS i (id)
                """, timeout: .seconds(60))
            let waiting = try await app.order(
                #"{"content":{"body":"b"},"audience":{"installations":["\#(theirs.id)","\#(others.id)"]},\#(NotificationsApp.quiet)}"#
            )
            var positions: [String] = []
            var erased: [String: Int] = [:]
            repeat {
                let request = UserDataRequest(app: "app1", environment: .live, user: Self.user, after: positions.last)
                let erasure = try await app.service.devices.userData.erase(request)
                erased.merge(erasure.erased, uniquingKeysWith: +)
                #expect(erasure.erased.values.reduce(0, +) <= InstallationUserData.deliveriesPerSlice)
                if let next = erasure.next { positions.append(next) } else { break }
            } while true
            #expect(erased == ["installations": 1, "deliveries": InstallationUserData.deliveriesPerSlice * 2 + 4])
            #expect(positions.count == 2 && Set(positions).count == 2, "the same position twice would not end")
            let rows = try await app.postgres.query(
                """
                SELECT count(*) FILTER (WHERE installation = \(theirs.id)), count(*) FILTER (WHERE installation = \(others.id) AND (receipt = 'r' OR state = 'queued')),
                    count(*) FILTER (WHERE opened IS NOT NULL AND receipt IS NULL) FROM notifications.deliveries
                """)[0]
            let all = InstallationUserData.deliveriesPerSlice * 2 + 3
            #expect(
                try [rows.decode(0, as: Int.self), rows.decode(1, as: Int.self), rows.decode(2, as: Int.self)] == [
                    0, all + 1, all,
                ])
            // Without a credential every delivery ends at once.
            try await app.postgres.execute("DELETE FROM notifications.credentials")
            try await app.postgres.execute("UPDATE notifications.messages SET timing = '{}' WHERE id = \(waiting)")
            try await app.postgres.execute("UPDATE notifications.deliveries SET due = now() WHERE message = \(waiting)")
            try await eventually("the message is sent") { try await app.message(waiting).state == .sent }
            let reasons = try await app.postgres.query(
                "SELECT reason FROM notifications.deliveries WHERE message = \(waiting) AND installation <> \(others.id)"
            )
            #expect(try reasons.map { try $0.decode(0, as: String.self) } == ["no-token"])
        }
    }

    @Test func `gone tokens are forgotten unless they were registered again`() async throws {
        try await NotificationsApp.run { app in
            let space = try await app.space.id
            let (gone, back, moved) = (TestDevice(), TestDevice(), TestDevice())
            let tokens = (0..<3).map { _ in TestDevice.token() }
            for (device, token) in zip([gone, back, moved], tokens) {
                try await app.ask("PUT", device, TestDevice.ios(token))
            }
            let (past, future) = (Date().addingTimeInterval(-3_600), Date().addingTimeInterval(3_600))
            func token(_ device: TestDevice, _ token: String, _ since: Date) -> GoneToken {
                GoneToken(
                    space: space, installation: UUID(uuidString: device.id)!, token: token, unlessRegisteredSince: since
                )
            }
            let batch = [
                token(gone, tokens[0], future), token(back, tokens[1], past), token(moved, "00ff", future),
                token(TestDevice(), tokens[0], future),
            ]
            let store = app.service.devices.installations
            #expect(try await store.forgetTokens(batch) == 1)
            #expect(try await store.forgetTokens(batch) == 0)
            #expect(try await store.forgetTokens([]) == 0)
            #expect(try await app.ask("GET", gone)["push"] == "null")
            for device in [back, moved] { #expect(try await app.ask("GET", device)["push.service"] == "\"apns\"") }
            #expect(
                try await app.ask("PUT", gone, TestDevice.ios(tokens[0]))["push.service"] == "\"apns\"",
                "the app has registered the token again")
        }
    }

    @Test func `devices unseen for a year are removed`() async throws {
        try await NotificationsApp.run { app in
            let space = try await app.space.id
            try await app.postgres.execute(
                """
                INSERT INTO notifications.installations (space, id, secret_digest, platform, service, seen)
                SELECT \(space), gen_random_uuid(), '\\x00', 'ios', 'apns', now() - CASE n % 2 WHEN 0 THEN interval '366 days' ELSE interval '364 days' END
                FROM generate_series(1, 5000) AS n
                """)
            try await app.service.devices.housekeeping.prune()
            #expect(try await app.countInstallations() == 2_500)
            try await app.service.devices.housekeeping.prune()
            #expect(try await app.countInstallations() == 2_500)
        }
    }

    private func installations(_ answer: Answer) -> [String] {
        guard case .array(let elements) = answer.json?["data"] else { return [] }
        return elements.compactMap { if case .string(let id) = $0["id"] { id } else { nil } }
    }
}
