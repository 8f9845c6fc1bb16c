import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct AlertDeliveryTests {
    /// Makes waiting attempts due.
    private static func hurry(_ app: AnalyticsApp) async throws {
        try await app.postgres.execute("UPDATE analytics.jobs SET due = now() WHERE state = 'waiting'")
        try await app.postgres.execute("SELECT pg_notify('analytics_jobs', '')")
    }

    @Test func `a failed delivery is retried under the same id until it is accepted`() async throws {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let data = try await CrashData(app)
            let attempts = Mutex(0)
            let receiver = try await HookReceiver { _ in
                switch attempts.withLock({ attempts in
                    attempts += 1
                    return attempts
                }) {
                case 1: (500, "")
                case 2: (429, "1")
                default: (204, "")
                }
            }
            let alert = try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            try await receiver.wait(for: 1)
            try await eventually { try await data.count("crash_alert_deliveries", where: "status = 500") == 1 }
            let waiting = try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries?state=waiting")
            #expect(
                waiting["data.0.attempts"] == "1"
                    && waiting["data.0.error"] == "\"The server answered with the status 500.\"",
                "\(waiting)")
            try await eventually {
                try await Self.hurry(app)
                return try await data.count("crash_alert_deliveries", where: "state = 'done'") == 1
            }
            // On a busy machine an answer may come too late, which adds an attempt.
            let received = receiver.received
            #expect(received.count >= 3 && Set(received.map { $0.headers["webhook-id"] }).count == 1)
            #expect(Set(received.map(\.body)).count == 1)
            let done = try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries")
            #expect(
                done.each("state") == ["\"done\""] && done["data.0.attempts"] == "\(received.count)"
                    && done["data.0.status"] == "204"
                    && done["data.0.error"] == "null")
            #expect(
                done["data.0.id"] == receiver.received.first?.headers["webhook-id"].map(JSONValue.quote)
                    && done["data.0.body.type"] == "\"crash.alert\"")
            let delivery = try #require(done["data.0.id"]).dropFirst().dropLast()
            #expect(
                try await app.master("POST", "/crashes/alerts/\(alert.id)/deliveries/\(delivery)/retry").isProblem(
                    .conflict))
            #expect(
                try await app.master("POST", "/crashes/alerts/\(alert.id)/deliveries/\(UUID())/retry").isProblem(
                    .deliveryNotFound))
            #expect(
                try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries?state=odd").isProblem(
                    .invalidParameter, field: "state"))
        }
    }

    @Test func `after the last attempt a delivery is dead, until a retry is requested`() async throws {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let data = try await CrashData(app)
            let works = Mutex(false)
            let receiver = try await HookReceiver { _ in works.withLock { $0 } ? (200, "") : (503, "") }
            let alert = try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            try await eventually {
                try await Self.hurry(app)
                return try await data.count("crash_alert_deliveries", where: "state = 'dead'") == 1
            }
            #expect(receiver.received.count == DeliverAlert.retries.maximumAttempts)
            try await eventually { try await data.count("jobs", where: "finished IS NULL") == 0 }
            works.withLock { $0 = true }
            let dead = try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries?state=dead")
            let delivery = try #require(dead["data.0.id"]).dropFirst().dropLast()
            #expect(
                try await app.master("POST", "/crashes/alerts/\(alert.id)/deliveries/\(delivery)/retry").status == 202)
            try await eventually { try await data.count("crash_alert_deliveries", where: "state = 'done'") == 1 }
            #expect(receiver.received.count == DeliverAlert.retries.maximumAttempts + 1)
        }
    }

    @Test func `a receiver that answers 410 gets no more messages`() async throws {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver { _ in (410, "") }
            let alert = try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            try await eventually { try await data.count("crash_alerts", where: "NOT enabled") == 1 }
            #expect(try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries").each("state") == ["\"dead\""])
            try await data.addHistory(try await data.issue(2), "created")
            try await app.runAlerts()
            #expect(try await data.count("crash_alert_deliveries") == 1 && receiver.received.count == 1)
        }
    }

    @Test func `an alert that is enabled again does not report earlier changes`() async throws {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            let alert = try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            try await data.addHistory(try await data.issue(1), "created")
            while try await app.service.crashes.tracking.alerts.firing.announce() {}
            // The alert is disabled as after an answer 410, while a pending change waits for the pause to end.
            try await app.service.crashes.tracking.alerts.store.disable(try #require(UUID(uuidString: alert.id)))
            let body = #"{"name":"New","kind":"newIssue","target":{"type":"webhook","url":"\#(receiver.url)"}}"#
            #expect(try await app.master("PUT", "/crashes/alerts/\(alert.id)", body)["enabled"] == "true")
            try await app.runAlerts()
            #expect(try await data.count("crash_alert_deliveries") == 0)
            try await data.addHistory(try await data.issue(2), "created")
            try await app.runAlerts()
            #expect(try await data.count("crash_alert_deliveries") == 1)
        }
    }

    @Test func `a test call reports its result at once, and is signed with both secrets after a rotation`()
        async throws
    {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let status = Mutex(200)
            let receiver = try await HookReceiver { _ in (status.withLock { $0 }, "") }
            let (id, first) = try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            let good = try await app.master("POST", "/crashes/alerts/\(id)/test")
            #expect(good["delivered"] == "true" && good["status"] == "200" && good["error"] == nil, "\(good)")
            #expect(receiver.received.first?["type"] == "\"crash.alert.test\"")
            guard
                case .string(let second) = try await app.master("POST", "/crashes/alerts/\(id)/secret").json?["secret"]
            else { throw CancellationError() }
            status.withLock { $0 = 500 }
            let bad = try await app.master("POST", "/crashes/alerts/\(id)/test")
            #expect(
                bad["delivered"] == "false" && bad["status"] == "500"
                    && bad["error"] == "\"The server answered with the status 500.\"")
            let message = try #require(receiver.received.last)
            let signatures = [second, first].map { secret in
                WebhookSecret(secret)?.signature(
                    id: message.headers["webhook-id"] ?? "",
                    timestamp: Int64(message.headers["webhook-timestamp"] ?? "") ?? 0,
                    body: Data(message.body.utf8)) ?? "-"
            }
            #expect(message.headers["webhook-signature"] == signatures.joined(separator: " "))
            #expect(try await CrashData(app).count("crash_alert_deliveries") == 0)
            var away = app
            away.environment = .test
            #expect(try await away.master("POST", "/crashes/alerts/\(id)/test").isProblem(.alertNotFound))
        }
    }

    @Test
    func `an alert for notification rules goes to the notifications service, whose failure the alert shows`()
        async throws
    {
        var options = AlertTests.options
        options.crashes.alerts.notifications.url = URL(string: "http://127.0.0.1:1")!
        try await AnalyticsApp.run(options) { app in
            let made = try await app.master(
                "POST", "/crashes/alerts", #"{"name":"New","kind":"newIssue","target":{"type":"notification"}}"#)
            try #require(made.status == 201, "\(made)")
            #expect(
                made["alert.target.type"] == "\"notification\"" && made["alert.target.url"] == nil
                    && made["secret"] == nil)
            guard case .string(let id) = made.json?["alert"]?["id"] else { throw CancellationError() }
            let tried = try await app.master("POST", "/crashes/alerts/\(id)/test")
            #expect(
                tried["delivered"] == "false"
                    && tried["error"] == "\"The notifications service could not be reached.\"", "\(tried)")
            let refused =
                #"{"name":"Other","kind":"newIssue","target":{"type":"notification","url":"https://example.com"}}"#
            #expect(try await app.master("POST", "/crashes/alerts", refused).isProblem(.invalidBody, field: "target"))
        }
    }

    @Test func `deliveries are listed in pages, and old ones are deleted`() async throws {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            let alert = try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            for number in 1...5 {
                try await data.addHistory(try await data.issue(Int32(number)), "created")
                try await app.runAlerts()
                try await app.postgres.execute("UPDATE analytics.crash_alerts SET fired = NULL")
            }
            let first = try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries?limit=3")
            let next = try #require(first["next"]).dropFirst().dropLast()
            let second = try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries?limit=3&before=\(next)")
            #expect(
                (first.each("body.data.issues.0.number") + second.each("body.data.issues.0.number")) == [
                    "5", "4", "3", "2", "1",
                ])
            #expect(second["next"] == nil)
            try await eventually { try await data.count("crash_alert_deliveries", where: "state = 'done'") == 5 }
            try await app.postgres.execute(
                "UPDATE analytics.crash_alert_deliveries SET created = now() - interval '31 days' WHERE id::text <= \(String(next))"
            )
            try await app.service.crashes.tracking.alerts.deliveries.prune()
            #expect(try await app.master("GET", "/crashes/alerts/\(alert.id)/deliveries").each("id").count == 2)
        }
    }
}
