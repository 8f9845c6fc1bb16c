import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct AlertTests {
    /// Alerts are evaluated only when the test says so, and may call this process.
    static let options: AnalyticsOptions = {
        var options = AnalyticsOptions()
        options.crashes.alerts.arePrivateAddressesAllowed = true
        options.crashes.alerts.interval = .seconds(3_600)
        options.crashes.alerts.rateInterval = .zero
        return options
    }()

    @Test func `an alert is created, read, changed and deleted, and its secret is shown once`() async throws {
        try await AnalyticsApp.run(Self.options) { app in
            let receiver = try await HookReceiver()
            let made = try await app.master(
                "POST", "/crashes/alerts",
                #"{"name":"Busy","kind":"rate","levels":["fatal"],"releases":["1.0"],"threshold":50,"windowSeconds":3600,"target":{"type":"webhook","url":"\#(receiver.url)"}}"#
            )
            #expect(made.status == 201 && made["secret"]?.hasPrefix("\"whsec_") == true, "\(made)")
            #expect(
                made["alert.scope"] == "\"issue\"" && made["alert.measure"] == "\"events\""
                    && made["alert.threshold"] == "50")
            #expect(
                made["alert.enabled"] == "true" && made["alert.pauseSeconds"] == "300"
                    && made["alert.levels"] == #"["fatal"]"#)
            #expect(made["alert.fired"] == "null" && made["alert.author"] == "\"key:c1\"")
            let id = try #require(made["alert.id"]).dropFirst().dropLast()
            let read = try await app.master("GET", "/crashes/alerts/\(id)")
            #expect(read.text == made.json?["alert"]?.text || read.json == made.json?["alert"])
            #expect(read["secret"] == nil && read["salt"] == nil)
            let body =
                #"{"name":"Health","kind":"crashFree","threshold":99.5,"windowDays":7,"target":{"type":"webhook","url":"\#(receiver.url)"}}"#
            let changed = try await app.master("PUT", "/crashes/alerts/\(id)", body)
            #expect(
                changed["kind"] == "\"crashFree\"" && changed["threshold"] == "99.5" && changed["minimum"] == "100"
                    && changed["windowDays"] == "7")
            #expect(try await app.master("GET", "/crashes/alerts").each("name") == ["\"Health\""])
            #expect(try await app.master("POST", "/crashes/alerts", body).isProblem(.conflict, field: "name"))
            let rotated = try await app.master("POST", "/crashes/alerts/\(id)/secret")
            #expect(rotated["secret"]?.hasPrefix("\"whsec_") == true && rotated["secret"] != made["secret"])
            #expect(try await app.master("DELETE", "/crashes/alerts/\(id)").status == 204)
            for (method, path) in [
                ("DELETE", ""), ("GET", ""), ("PUT", ""), ("POST", "/secret"), ("POST", "/test"),
                ("GET", "/deliveries"),
            ] {
                #expect(
                    try await app.master(method, "/crashes/alerts/\(id)\(path)", method == "PUT" ? body : nil)
                        .isProblem(.alertNotFound), "\(method) \(path)")
            }
            #expect(try await app.master("GET", "/crashes/alerts/x").isProblem(.alertNotFound))
        }
    }

    @Test func `an invalid alert is refused by its field, and nothing is created`() async throws {
        let hook = #""target":{"type":"webhook","url":"https://example.com/h"}"#
        let cases: [(body: String, field: String)] = [
            (#"{"kind":"newIssue",\#(hook)}"#, "name"), (#"{"name":"","kind":"newIssue",\#(hook)}"#, "name"),
            (#"{"name":"a",\#(hook)}"#, "kind"),
            (#"{"name":"a","kind":"old",\#(hook)}"#, "kind"), (#"{"name":"a","kind":"newIssue"}"#, "target"),
            (#"{"name":"a","kind":"newIssue","target":{"type":"mail","url":"x"}}"#, "target"),
            (#"{"name":"a","kind":"newIssue","levels":["grave"],\#(hook)}"#, "levels"),
            (#"{"name":"a","kind":"newIssue","threshold":5,\#(hook)}"#, "threshold"),
            (#"{"name":"a","kind":"newIssue","pauseSeconds":59,\#(hook)}"#, "pauseSeconds"),
            (#"{"name":"a","kind":"newIssue","releases":[""],\#(hook)}"#, "releases"),
            (#"{"name":"a","kind":"rate","windowSeconds":60,\#(hook)}"#, "threshold"),
            (#"{"name":"a","kind":"rate","threshold":1,\#(hook)}"#, "windowSeconds"),
            (#"{"name":"a","kind":"rate","threshold":1,"windowSeconds":59,\#(hook)}"#, "windowSeconds"),
            (#"{"name":"a","kind":"rate","threshold":1,"windowSeconds":60,"measure":"sessions",\#(hook)}"#, "measure"),
            (#"{"name":"a","kind":"rate","threshold":1,"windowSeconds":60,"minimum":6,\#(hook)}"#, "minimum"),
            (#"{"name":"a","kind":"crashFree","threshold":0,\#(hook)}"#, "threshold"),
            (#"{"name":"a","kind":"crashFree","threshold":101,\#(hook)}"#, "threshold"),
            (#"{"name":"a","kind":"crashFree","threshold":99,"levels":["fatal"],\#(hook)}"#, "levels"),
            (#"{"name":"a","kind":"crashFree","threshold":99,"windowDays":31,\#(hook)}"#, "windowDays"),
            (#"{"name":"a","kind":"newIssue","foo":1,\#(hook)}"#, "foo"),
            (#"{"name":"a","kind":"newIssue","target":{"type":"webhook","url":"http://example.com"}}"#, "target.url"),
            (#"{"name":"a","kind":"newIssue","target":{"type":"webhook","url":"https://127.0.0.1/"}}"#, "target.url"),
            (#"{"name":"a","kind":"newIssue","target":{"type":"webhook","url":"https://[::1]/"}}"#, "target.url"),
            (
                #"{"name":"a","kind":"newIssue","target":{"type":"webhook","url":"https://user@example.com/"}}"#,
                "target.url"
            ),
        ]
        // This test uses the settings of production.
        try await AnalyticsApp.run { app in
            for (body, field) in cases {
                let answer = try await app.master("POST", "/crashes/alerts", body)
                #expect(answer.isProblem(.invalidBody, field: field), "\(body): \(answer)")
            }
            #expect(try await CrashData(app).count("crash_alerts") == 0)
            #expect(try await app.client("GET", "/crashes/alerts").isProblem(.forbidden))
        }
    }

    @Test func `a space has a limited number of alerts`() async throws {
        try await AnalyticsApp.run(Self.options) { app in
            let receiver = try await HookReceiver()
            for number in 1...Alert.maximumPerSpace {
                try await app.alert(#""name":"\#(number)","kind":"newIssue""#, at: receiver)
            }
            let answer = try await app.master(
                "POST", "/crashes/alerts",
                #"{"name":"more","kind":"newIssue","target":{"type":"webhook","url":"\#(receiver.url)"}}"#)
            #expect(answer.isProblem(.limitExceeded))
            #expect(try await CrashData(app).count("crash_alerts") == Alert.maximumPerSpace)
        }
    }

    @Test
    func `a new or reopened issue is reported once by any number of instances, with a Standard Webhooks signature`()
        async throws
    {
        try await AnalyticsApp.run(Self.options) { app in
            let data = try await CrashData(app)
            let (news, returns) = (try await HookReceiver(), try await HookReceiver())
            // Happened before the alert was created.
            try await data.addHistory(try await data.issue(1), "created")
            let secret = try await app.alert(#""name":"New","kind":"newIssue""#, at: news).secret
            try await app.alert(#""name":"Back","kind":"regression""#, at: returns)
            try await app.postgres.execute("UPDATE analytics.issue_history SET at = at - interval '1 hour'")
            let (two, three) = (
                try await data.issue(2, "Second", level: .fatal),
                try await data.issue(3, "Third", regressed: CrashData.day(2))
            )
            try await data.addHistory(two, "created")
            try await data.addHistory(three, "regressed")
            let firing = app.service.crashes.tracking.alerts.firing
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        while try await firing.announce() {}
                        for id in try await firing.due() { try await firing.fire(id) }
                        // Includes those marked by another instance.
                        for row in try await app.postgres.query("SELECT id FROM analytics.crash_alerts") {
                            try await firing.fire(try row.decode(0))
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await news.wait(for: 1)
            try await returns.wait(for: 1)
            try await Task.sleep(for: .milliseconds(300))
            #expect(news.received.count == 1 && returns.received.count == 1)
            let message = try #require(news.received.first)
            #expect(
                message["type"] == "\"crash.alert\"" && message["data.alert.name"] == "\"New\""
                    && message["data.alert.kind"] == "\"newIssue\"")
            #expect(
                message["data.count"] == "1" && message["data.issues.0.number"] == "2"
                    && message["data.issues.0.title"] == "\"Second\"")
            #expect(message["data.app"] == "\"app1\"" && message["data.environment"] == "\"live\"")
            #expect(
                returns.received.first?["data.issues.0.number"] == "3"
                    && returns.received.first?["data.issues.0.state"] == "\"regressed\"")
            let signature = WebhookSecret(secret)?.signature(
                id: message.headers["webhook-id"] ?? "",
                timestamp: Int64(message.headers["webhook-timestamp"] ?? "") ?? 0, body: Data(message.body.utf8))
            #expect(message.headers["webhook-signature"] == signature)
            #expect(try await data.count("crash_alert_deliveries") == 2)
            #expect(try await data.count("crash_alert_happenings") == 0)
            #expect(try await data.count("issue_history", where: "NOT is_announced") == 0)
        }
    }

    @Test func `changes during a pause are reported together afterwards`() async throws {
        try await AnalyticsApp.run(Self.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            try await app.alert(#""name":"New","kind":"newIssue","pauseSeconds":600"#, at: receiver)
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            for number in 2...24 { try await data.addHistory(try await data.issue(Int32(number)), "created") }
            try await app.runAlerts()
            #expect(try await data.count("crash_alert_deliveries") == 1)
            try await app.postgres.execute("UPDATE analytics.crash_alerts SET fired = now() - interval '10 minutes'")
            try await app.runAlerts()
            try await receiver.wait(for: 2)
            let second = try #require(receiver.received.first { $0["data.count"] == "23" })
            #expect(
                second["data.issues.0.number"] == "2" && second["data.issues.19.number"] == "21"
                    && second["data.issues.20"] == nil)
        }
    }

    @Test func `levels and releases restrict the issues of an alert`() async throws {
        let cases: [(filter: String, numbers: [String])] = [
            ("", ["1", "2", "3"]), (#","levels":["fatal"]"#, ["1"]), (#","levels":["fatal","error"]"#, ["1", "2"]),
            (#","releases":["app@2.0+9"]"#, ["2"]),
            (#","releases":["2.0","1.0"]"#, ["1", "2"]), (#","releases":["1.0"],"levels":["error"]"#, []),
        ]
        try await AnalyticsApp.run(Self.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            let (old, new) = (
                try await data.release("app@1.0+1", version: "1.0"), try await data.release("app@2.0+9", version: "2.0")
            )
            for (number, (filter, _)) in cases.enumerated() {
                try await app.alert(#""name":"\#(number)","kind":"newIssue"\#(filter)"#, at: receiver)
            }
            try await data.addHistory(try await data.issue(1, level: .fatal, firstRelease: old), "created")
            try await data.addHistory(
                try await data.issue(2, level: .error, firstRelease: old), "created", release: "app@2.0+9")
            try await data.addHistory(try await data.issue(3, level: .info), "created")
            try await app.runAlerts()
            try await receiver.wait(for: 5)
            for (number, (filter, numbers)) in cases.enumerated() {
                let message = receiver.received.first { $0["data.alert.name"] == "\"\(number)\"" }
                guard !numbers.isEmpty else {
                    #expect(message == nil, "\(filter)")
                    continue
                }
                #expect((0..<numbers.count).map { message?["data.issues.\($0).number"] } == numbers, "\(filter)")
                #expect(message?["data.count"] == "\(numbers.count)", "\(filter)")
            }
            #expect(new > 0)
        }
    }

    @Test func `too many reports or users within a window trigger an alert, for an issue or the app`() async throws {
        let cases: [(alert: String, numbers: [String], value: String?)] = [
            (#""threshold":3,"windowSeconds":3600"#, ["1"], nil),
            (#""threshold":4,"windowSeconds":3600"#, [], nil),
            (#""threshold":2,"windowSeconds":3600"#, ["1", "2"], nil),
            (#""threshold":4,"windowSeconds":36000"#, ["1"], nil),
            (#""threshold":2,"windowSeconds":3600,"measure":"users""#, ["2"], nil),
            (#""threshold":5,"windowSeconds":3600,"scope":"app""#, ["1", "2"], "5"),
            (#""threshold":6,"windowSeconds":3600,"scope":"app""#, [], nil),
            (#""threshold":3,"windowSeconds":3600,"scope":"app","measure":"users""#, ["2", "1"], "3"),
            (#""threshold":1,"windowSeconds":3600,"levels":["fatal"]"#, ["2"], nil),
            (#""threshold":1,"windowSeconds":3600,"releases":["1.0"]"#, ["1"], nil),
        ]
        try await AnalyticsApp.run(Self.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            let release = try await data.release("app@1.0+1", version: "1.0")
            let (one, two, ignored) = (
                try await data.issue(1), try await data.issue(2), try await data.issue(3, status: "ignored")
            )
            func ago(_ minutes: Double) -> Date { Date(timeIntervalSinceNow: -60 * minutes) }
            for minutes in [1.0, 30, 59, 120] {
                try await data.report(one, received: ago(minutes), person: 7, release: minutes == 1 ? release : nil)
            }
            for person in [8, 9] { try await data.report(two, received: ago(5), person: person, level: .fatal) }
            for _ in 0..<9 { try await data.report(ignored, received: ago(1), person: 1) }
            for (number, alert) in cases.enumerated() {
                try await app.alert(#""name":"\#(number)","kind":"rate",\#(alert.alert)"#, at: receiver)
            }
            try await app.runAlerts()
            try await receiver.wait(for: cases.count { !$0.numbers.isEmpty })
            for (number, alert) in cases.enumerated() {
                let message = receiver.received.first { $0["data.alert.name"] == "\"\(number)\"" }
                let numbers = (0..<3).compactMap { message?["data.issues.\($0).number"] }
                #expect(
                    numbers == alert.numbers && message?["data.value"] == alert.value,
                    "\(alert.alert): \(message?.body ?? "-")")
            }
            let first = receiver.received.first { $0["data.alert.name"] == "\"0\"" }
            #expect(
                first?["data.issues.0.value"] == "3" && first?["data.count"] == "1" && first?["data.threshold"] == "3")
            // While the condition lasts, once in each pause.
            try await app.runAlerts()
            #expect(try await data.count("crash_alert_deliveries") == cases.count { !$0.numbers.isEmpty })
            try await app.postgres.execute(
                "UPDATE analytics.crash_alerts SET fired = now() - interval '5 minutes' WHERE name = '0'")
            try await app.runAlerts()
            #expect(try await data.count("crash_alert_deliveries") == 1 + cases.count { !$0.numbers.isEmpty })
        }
    }

    @Test func `a low crash-free rate of sessions or users triggers an alert`() async throws {
        let cases: [(alert: String, value: String?)] = [
            (#""threshold":98,"minimum":200"#, "95"), (#""threshold":95,"minimum":200"#, nil),
            (#""threshold":98,"minimum":201"#, nil),
            (#""threshold":98,"windowDays":2"#, "97.5"), (#""threshold":98,"releases":["2.0"],"minimum":100"#, nil),
            (#""threshold":98,"releases":["1.0"],"minimum":100"#, "90"),
            (#""threshold":70,"measure":"users","minimum":3"#, "66.667"),
            (#""threshold":66,"measure":"users","minimum":3"#, nil),
        ]
        try await AnalyticsApp.run(Self.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            let (old, new) = (
                try await data.release("app@1.0+1", version: "1.0"), try await data.release("app@2.0+9", version: "2.0")
            )
            try await data.sessions(old, daysAgo: 0, 100, crashed: 10)
            try await data.sessions(new, daysAgo: 0, 100, crashed: 0)
            try await data.sessions(new, daysAgo: 1, 200, crashed: 0)
            try await data.sessionUser(1, old, daysAgo: 0, crashed: true)
            try await data.sessionUser(1, new, daysAgo: 0, crashed: false)
            for person in [2, 3] { try await data.sessionUser(person, new, daysAgo: 0, crashed: false) }
            for (number, alert) in cases.enumerated() {
                try await app.alert(#""name":"\#(number)","kind":"crashFree",\#(alert.alert)"#, at: receiver)
            }
            try await app.runAlerts()
            try await receiver.wait(for: cases.count { $0.value != nil })
            for (number, alert) in cases.enumerated() {
                let message = receiver.received.first { $0["data.alert.name"] == "\"\(number)\"" }
                #expect(
                    message?["data.value"] == alert.value
                        && message?["data.issues"] == (alert.value == nil ? nil : "[]"), "\(alert.alert)")
            }
        }
    }
}

extension AnalyticsApp {
    /// Creates an alert.
    @discardableResult
    func alert(_ members: String, at receiver: HookReceiver) async throws -> (id: String, secret: String) {
        let answer = try await master(
            "POST", "/crashes/alerts", "{\(members),\"target\":{\"type\":\"webhook\",\"url\":\"\(receiver.url)\"}}")
        guard answer.status == 201, case .string(let id) = answer.json?["alert"]?["id"],
            case .string(let secret) = answer.json?["secret"]
        else {
            throw AlertNotMade(answer: answer)
        }
        return (id, secret)
    }

    struct AlertNotMade: Error {
        var answer: Answer
    }

    /// Does what every instance does periodically.
    func runAlerts() async throws {
        let firing = service.crashes.tracking.alerts.firing
        while try await firing.announce() {}
        for id in try await firing.due() { try await firing.fire(id) }
    }
}
