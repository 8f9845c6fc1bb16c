import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Plans that a pause has made outdated, and messages that a version cannot read. There is no credential, so whatever
/// is sent fails.
struct PausingTests {
    private static func change(_ app: NotificationsApp, _ id: UUID, _ act: String) async throws {
        let answer = try await app.master("POST", "/notifications/messages/\(id)/\(act)")
        try #require(answer.status == 200 && answer["isPaused"] == (act == "pause" ? "true" : "false"), "\(answer)")
    }

    /// Simulates a pause after which all deliveries are overdue.
    private static func makeOverdue(_ app: NotificationsApp, _ id: UUID) async throws {
        try await app.postgres.execute(
            "UPDATE notifications.deliveries SET due = now() - interval '1 hour', updated = now() - interval '1 day' WHERE message = \(id)",
            timeout: .seconds(60))
    }

    private static func isPaused(_ app: NotificationsApp, _ id: UUID) async throws -> Bool {
        try await app.postgres.query("SELECT is_paused FROM notifications.messages WHERE id = \(id)")[0].decode(0)
    }

    @Test func `overdue deliveries of a resumed message respect quiet hours by each device's clock`() async throws {
        try await NotificationsApp.run { app in
            // Zones where it is noon when it is midnight in UTC, or the reverse: never quiet at the same time.
            try await app.install([
                TestInstallation(1, user: "u"), TestInstallation(2, user: "u", timeZone: "Etc/GMT-12"),
            ])
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"users":["u"]},"due":"\#(Date().addingTimeInterval(1).rfc3339)",\#(NotificationsApp.quiet)}"#
            )
            try await Self.change(app, id, "pause")
            try await Self.change(app, id, "resume")
            try await Self.change(app, id, "pause")
            // Planned by hand, because a paused message is not planned.
            try await app.postgres.withTransaction {
                _ = try await app.service.messages.store.planner.planPage(of: try await app.message(id), $0)
            }
            try await Self.makeOverdue(app, id)
            // Without a credential, a delivery fails as soon as it is due.
            try await app.postgres.execute("DELETE FROM notifications.credentials")
            try await Self.change(app, id, "resume")
            #expect(try await Self.isPaused(app, id) == false)
            try await eventually("the delivery failed") { try await app.deliveries(id)[1].state == "failed" }
            let quiet = try await app.deliveries(id)[0]
            #expect(
                quiet.state == "queued" && quiet.due > Date().addingTimeInterval(1_800)
                    && quiet.due < Date().addingTimeInterval(3_700), "\(quiet)")
        }
    }

    @Test func `deliveries that are not overdue keep their time, and others continue at once`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u")])
            let later = try await app.order(
                #"{"content":{"body":"b"},"audience":{"users":["u"]},\#(NotificationsApp.quiet)}"#)
            let due = try await app.deliveries(later)[0].due
            let day = Date().addingTimeInterval(100 * 86_400).rfc3339.prefix(16)
            let plain = try await app.order(
                #"{"content":{"body":"b"},"audience":{"users":["u"]},"timing":{"localTime":"\#(day)"},"due":"\#(Date().rfc3339)"}"#
            )
            for id in [later, plain] {
                try await Self.change(app, id, "pause")
                try await Self.change(app, id, "resume")
            }
            #expect(try await app.deliveries(later)[0].due == due)
            #expect(try await !Self.isPaused(app, plain))
        }
    }

    @Test func `a device that reached its limit during the pause gets no more`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u"), TestInstallation(2, user: "v")])
            let timing = NotificationsApp.quiet.dropLast() + #","cap":{"count":1,"seconds":3600}}"#
            let id = try await app.order(#"{"content":{"body":"b"},"audience":{"users":["u","v"]},\#(timing)}"#)
            #expect(try await app.deliveries(id).count == 2)
            try await Self.change(app, id, "pause")
            try await Self.makeOverdue(app, id)
            let other = try await app.order(
                #"{"content":{"body":"b"},"audience":{"users":["u"]},\#(NotificationsApp.quiet)}"#)
            try await app.postgres.execute(
                "UPDATE notifications.deliveries SET state = 'accepted' WHERE message = \(other)")
            try await Self.change(app, id, "resume")
            #expect(try await app.deliveries(id).map(\.state) == ["cancelled", "queued"])
            let reason: String? = try await app.postgres.query(
                "SELECT reason FROM notifications.deliveries WHERE message = \(id) AND state = 'cancelled'")[0].decode(
                    0)
            #expect(reason == "capped")
            let answer = try await app.master("GET", "/notifications/messages/\(id)")
            #expect(answer["counts.cancelled"] == "1" && answer["counts.waiting"] == "1", "\(answer)")
        }
    }

    @Test func `many deliveries are rescheduled page by page, and none is sent before all are done`() async throws {
        try await NotificationsApp.run { app in
            let count = MessagePlanner.pageSize * 2 + 3
            try await app.install(count)
            let id = try await app.order(
                #"{"content":{"body":"b"},"audience":{"everyone":true},\#(NotificationsApp.quiet)}"#)
            try await app.planned(id)
            try await Self.change(app, id, "pause")
            try await Self.makeOverdue(app, id)
            try await Self.change(app, id, "resume")
            // If it is paused again in between, it stays paused.
            try await Self.change(app, id, "pause")
            try await Self.makeOverdue(app, id)
            try await Self.change(app, id, "resume")
            try await eventually("the message is resumed") { try await !Self.isPaused(app, id) }
            let rows = try await app.postgres.query(
                "SELECT count(*) FILTER (WHERE state = 'queued' AND due > now()) FROM notifications.deliveries WHERE message = \(id)"
            )
            #expect(try rows[0].decode(0, as: Int.self) == count)
        }
    }

    @Test(arguments: [
        ("content", #"{"hologram":1}"#), ("content", #"{"body":"b","priority":"urgent"}"#),
        ("audience", #"{"planet":"Mars"}"#), ("timing", #"{"moon":"full"}"#),
    ])
    func `a message that this version cannot read fails with a reason, and others continue`(
        _ column: String, _ json: String
    ) async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u")])
            func order() async throws -> UUID {
                try await app.order(
                    #"{"content":{"body":"b"},"audience":{"users":["u"]},"due":"\#(Date().addingTimeInterval(3_600).rfc3339)"}"#
                )
            }
            let (bad, good) = (try await order(), try await order())
            let name = PostgresIdentifier(column)!
            try await app.postgres.execute(
                "UPDATE notifications.messages SET \(name) = \(json)::json WHERE id = \(bad)")
            // The messages become due.
            try await app.postgres.execute("UPDATE notifications.messages SET due = now()")
            try await app.postgres.execute("UPDATE notifications.jobs SET due = now() WHERE kind = \(PlanMessage.kind)")
            try await app.postgres.execute("SELECT pg_notify('notifications_jobs', '')")
            try await app.planned(good)
            let answer = try await eventually("the message failed") {
                let answer = try await app.master("GET", "/notifications/messages/\(bad)")
                try #require(answer.status == 200, "\(answer)")
                return answer["state"] == #""failed""# ? answer : nil
            }
            #expect(
                answer["problem"]?.contains("This version of the service cannot read the message.") == true
                    && answer[column] == json, "\(answer)")
            #expect(try await app.deliveries(good).count == 1)
            #expect(try await app.deliveries(bad).isEmpty)
            #expect(try await app.master("GET", "/notifications/messages")["count"] == "2")
            for act in ["pause", "resume", "cancel"] {
                #expect(
                    try await app.master("POST", "/notifications/messages/\(bad)/\(act)").isProblem(.conflict), "\(act)"
                )
            }
            let attempts = try await app.postgres.query(
                "SELECT max(attempt), bool_and(state = 'done') FROM notifications.jobs WHERE kind = \(PlanMessage.kind)"
            )[0]
            #expect(try attempts.decode(0, as: Int.self) == 1)
        }
    }
}
