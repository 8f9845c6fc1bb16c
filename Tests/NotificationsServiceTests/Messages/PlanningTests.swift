import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

struct PlanningTests {
    private static var nextMonth: String { Date().addingTimeInterval(30 * 86_400).rfc3339 }

    @Test func `an audience of many pages is planned with one delivery for each device`() async throws {
        try await NotificationsApp.run { app in
            let count = MessagePlanner.pageSize * 2 + 17
            try await app.install(count)
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"everyone":true},\#(NotificationsApp.quiet)}"#)
            let message = try await app.planned(id)
            #expect(message.planned == count && message.state == .sending)
            #expect(try await app.count("deliveries") == count)
            // Each delivery names its service, so that claims can skip deliveries for a held credential.
            let services = try await app.postgres.query("SELECT DISTINCT service FROM notifications.deliveries").map {
                try $0.decode(0, as: String.self)
            }
            #expect(services == ["apns"])
        }
    }

    @Test func `interrupted planning continues where it stopped, on any instance`() async throws {
        try await NotificationsApp.run { app in
            try await app.install(MessagePlanner.pageSize + 5)
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"everyone":true},"due":"\#(Self.nextMonth)"}"#)
            let planner = app.service.messages.store.planner
            // A page that is rolled back does not count.
            await #expect(throws: OrderFailed.self) {
                try await app.postgres.withTransaction { transaction in
                    _ = try await planner.planPage(of: try await app.message(id), transaction)
                    throw OrderFailed(answer: "killed")
                }
            }
            #expect(try await app.count("deliveries") == 0)
            #expect(try await app.message(id).plannedTo == nil)
            #expect(
                try await app.postgres.withTransaction { try await planner.planPage(of: try await app.message(id), $0) }
                    == false)
            let middle = try await app.message(id)
            #expect(
                middle.planned == MessagePlanner.pageSize
                    && middle.plannedTo == TestInstallation.id(MessagePlanner.pageSize))
            #expect(try await app.postgres.withTransaction { try await planner.planPage(of: middle, $0) })
            #expect(try await app.message(id).planned == MessagePlanner.pageSize + 5)
            #expect(try await app.count("deliveries") == MessagePlanner.pageSize + 5)
        }
    }

    @Test func `concurrent planning gives each device one delivery`() async throws {
        try await NotificationsApp.run { app in
            let count = MessagePlanner.pageSize * 3 + 1
            try await app.install(count)
            let due = Date().addingTimeInterval(2).rfc3339
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"everyone":true},"due":"\#(due)",\#(NotificationsApp.quiet)}"#)
            // Each creates a job that is due at the same time.
            for _ in 0..<3 { _ = try await app.master("POST", "/notifications/messages/\(id)/resume") }
            #expect(try await app.planned(id).planned == count)
            #expect(try await app.count("deliveries") == count)
        }
    }

    @Test func `a paused message is not planned further until it is resumed`() async throws {
        try await NotificationsApp.run { app in
            try await app.install(3)
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"everyone":true},"due":"\#(Self.nextMonth)"}"#)
            #expect(try await app.message(id).state == .scheduled)
            #expect(try await app.master("POST", "/notifications/messages/\(id)/pause")["isPaused"] == "true")
            // The message becomes due.
            try await app.postgres.execute("UPDATE notifications.messages SET due = now() WHERE id = \(id)")
            try await app.postgres.execute("UPDATE notifications.jobs SET due = now() WHERE kind = \(PlanMessage.kind)")
            try await app.postgres.execute("SELECT pg_notify('notifications_jobs', '')")
            let plans: PostgresQuery =
                "SELECT FROM notifications.jobs WHERE kind = \(PlanMessage.kind) AND finished IS NULL"
            try await eventually("no plan is left") { try await app.postgres.query(plans).isEmpty }
            #expect(try await app.count("deliveries") == 0)
            #expect(try await app.master("POST", "/notifications/messages/\(id)/resume")["isPaused"] == "false")
            #expect(try await app.planned(id).planned == 3)
        }
    }

    @Test func `cancelled deliveries are not sent, and are recorded as cancelled`() async throws {
        try await NotificationsApp.run { app in
            try await app.install(3)
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"everyone":true},"timing":{"localTime":"\#(Self.nextMonth.prefix(16))"}}"#
            )
            let other = try await app.order(
                #"{"content":{"body":"b"},"audience":{"installations":["00000000-0000-4000-8000-000000000002"]},\#(NotificationsApp.quiet)}"#
            )
            #expect(try await app.message(other).planned == 1)
            for message in [id, other] {
                #expect(
                    try await app.master("DELETE", "/notifications/messages/\(message)")["state"] == #""cancelled""#)
                #expect(try await app.master("POST", "/notifications/messages/\(message)/resume").isProblem(.conflict))
                #expect(try await app.master("POST", "/notifications/messages/\(message)/cancel").isProblem(.conflict))
            }
            try await eventually("the delivery is decided") {
                try await app.deliveries(other).map(\.state) != ["queued"]
            }
            #expect(try await app.deliveries(other).map(\.state) == ["cancelled"])
            #expect(try await app.deliveries(id).isEmpty)
        }
    }

    @Test func `each device gets the message at its own time`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([
                TestInstallation(1, user: "u", timeZone: "Europe/Berlin"),
                TestInstallation(2, user: "u", timeZone: "America/New_York"),
                TestInstallation(3, user: "u"),
            ])
            let order = MessageOrder(
                content: MessageContent(MessageTexts(body: "b")), audience: .users(["u"]),
                timing: try MessageTiming(try JSONValue(parsing: #"{"localTime":"2027-07-01T08:00"}"#.utf8)),
                due: Date(), author: .service)
            let space = try await app.space
            let message = try await app.postgres.withTransaction {
                try await app.service.messages.store.create(order, in: space, $0)
            }
            #expect(
                try await app.deliveries(message.id).map(\.due.rfc3339) == [
                    "2027-07-01T06:00:00.000Z", "2027-07-01T12:00:00.000Z", "2027-07-01T08:00:00.000Z",
                ])
            #expect(message.expires > Date(rfc3339: "2027-07-01T20:00:00Z")!)
        }
    }

    @Test func `a device that has reached its limit gets no more for now`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1"), TestInstallation(2, user: "u2")])
            _ = try await app.order(#"{"content":{"body":"b"},"audience":{"users":["u1"]},\#(NotificationsApp.quiet)}"#)
            let capped = #"{"content":{"body":"b"},"audience":{"users":["u1","u2"]},CAP}"#
                .replacing("CAP", with: NotificationsApp.quiet.dropLast() + #","cap":{"count":2,"seconds":3600}}"#)
            for numbers in [[1, 2], [2], []] {
                let id = try await app.order(capped)
                #expect(try await app.deliveries(id).map(\.number) == numbers)
            }
            // Old messages no longer count.
            try await app.postgres.execute("UPDATE notifications.deliveries SET updated = now() - interval '2 hours'")
            #expect(try await app.deliveries(try await app.order(capped)).map(\.number) == [1, 2])
        }
    }

    @Test func `variants are split by weight, and the same device always gets the same one`() async throws {
        try await NotificationsApp.run { app in
            try await app.install(2_000)
            let id = try await app.order(
                #"{"content":{"variants":[{"name":"a","weight":3,"body":"A"},{"name":"b","body":"B"}]},"audience":{"everyone":true},\#(NotificationsApp.quiet)}"#
            )
            let message = try await app.planned(id)
            let split = VariantSplit(message.content.variants, message: id)
            let deliveries = try await app.deliveries(id)
            #expect(deliveries.allSatisfy { $0.variant == split.variant(of: TestInstallation.id($0.number)) })
            // 500 expected, with a standard deviation of 19.
            #expect((400...600).contains(deliveries.count { $0.variant == 1 }))
            try await app.postgres.execute(
                """
                INSERT INTO notifications.delivery_counts (message, variant, accepted, opened)
                SELECT message, variant, count(*), CASE variant WHEN 1 THEN count(*) ELSE 0 END FROM notifications.deliveries
                WHERE message = \(id) GROUP BY message, variant
                """)
            let answer = try await app.master("GET", "/notifications/messages/\(id)")
            let second = deliveries.count { $0.variant == 1 }
            #expect(
                answer["variants.1.name"] == #""b""# && answer["variants.1.accepted"] == "\(second)"
                    && answer["variants.1.opened"] == "\(second)")
            #expect(
                answer["variants.0.opened"] == "0" && answer["counts.accepted"] == "2000"
                    && answer["counts.waiting"] == "0" && answer["counts.opened"] == "\(second)")
        }
    }

    @Test func `messages finished long ago are deleted, others stay`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1")])
            let old = try await app.order(
                #"{"content":{"body":"b"},"audience":{"users":["u1"]},\#(NotificationsApp.quiet)}"#)
            let open = try await app.order(
                #"{"content":{"body":"b"},"audience":{"users":["u1"]},\#(NotificationsApp.quiet)}"#)
            try await app.postgres.execute(
                "UPDATE notifications.messages SET state = 'sent', finished = now() - interval '91 days' WHERE id = \(old)"
            )
            while try await app.service.messages.housekeeping.removeOldest() {}
            #expect(try await app.service.messages.store.find(old, in: try await app.space.id) == nil)
            #expect(try await app.deliveries(old).isEmpty)
            #expect(try await app.deliveries(open).count == 1)
        }
    }

    @Test func `another app's installations are never selected`() async throws {
        try await NotificationsApp.run { app in
            var other = app
            other.appID = "app2"
            try await other.install([TestInstallation(1, user: "u1")])
            try await app.install([TestInstallation(2, user: "u2")])
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"installations":["00000000-0000-4000-8000-000000000001","00000000-0000-4000-8000-000000000002"]}}"#
            )
            #expect(try await app.deliveries(id).map(\.number) == [2])
            #expect(try await other.master("GET", "/notifications/messages/\(id)").isProblem(.messageNotFound))
            #expect(try await other.master("DELETE", "/notifications/messages/\(id)").isProblem(.messageNotFound))
        }
    }
}
