import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import AnalyticsShared

/// A notifications service that stores the requested mail, once per origin.
private final class MailService: Sendable {
    struct State {
        var mails: [StaffMailOrders.Mail] = []
        /// States by address; other mails are sent.
        var states: [String: (state: String, reason: String?)] = [:]
        var canSend = true
        /// Number of answers that get lost on the way.
        var lost = 0
        /// The staff that auth knows, with their addresses.
        var staff: [Colleague: String?] = [.ada: "ada@example.org", .bob: "bob@example.org", .eve: "eve@example.org"]
    }

    let state = Mutex(State())

    func addresses() -> [String] { state.withLock { $0.mails.map(\.to) } }

    var options: AnalyticsOptions {
        var options = AlertTests.options
        options.crashes.alerts.publicURL = URL(string: "https://backend.example.org/m/")!
        options.crashes.alerts.mail = StaffMailOrders { mails, _, _ in
            try self.state.withLock { state in
                guard state.canSend else { return .init(canSend: false, mails: []) }
                for mail in mails where !state.mails.contains(where: { $0.origin == mail.origin }) {
                    state.mails.append(mail)
                }
                guard state.lost == 0 || mails.isEmpty else {
                    state.lost -= 1
                    throw OutgoingFailure.timeout
                }
                return .init(
                    canSend: true,
                    mails: mails.map { mail in
                        let (word, reason) = state.states[mail.to] ?? ("sent", nil)
                        return .init(origin: mail.origin, state: word, reason: reason)
                    })
            }
        }
        options.staff = StaffDirectory { ids, app, area in
            self.state.withLock { state in
                state.staff.compactMap { colleague, email in
                    guard let id = UUID(uuidString: colleague.id), ids.contains(id), app == "app1", area == .crashes
                    else { return nil }
                    return .init(id: id, userName: colleague.rawValue, email: email)
                }
            }
        }
        return options
    }
}

@Suite struct AlertMailTests {
    private static func target(_ staff: [Colleague]) -> String {
        #""target":{"type":"mail","staff":[\#(staff.map { "\"\($0.id)\"" }.joined(separator: ","))]}"#
    }

    private static func alert(_ app: AnalyticsApp, _ staff: [Colleague]) async throws -> String {
        let made = try await app.master(
            "POST", "/crashes/alerts", #"{"name":"New","kind":"newIssue",\#(target(staff))}"#)
        try #require(made.status == 201 && made["secret"] == nil, "nothing is signed: \(made)")
        return try #require(made["alert.id"]).filter { $0 != "\"" }
    }

    private static func wait(_ app: AnalyticsApp, _ condition: PostgresQuery) async throws {
        let data = try await CrashData(app)
        try await eventually("the delivery is recorded") {
            if try await data.count("crash_alert_deliveries", where: condition) > 0 { return true }
            try await app.postgres.execute("UPDATE analytics.jobs SET due = now() WHERE state = 'waiting'")
            try await app.postgres.execute("SELECT pg_notify('analytics_jobs', '')")
            return false
        }
    }

    private static func readers(_ app: AnalyticsApp, _ alert: String) async throws -> [String] {
        let read = try await app.master("GET", "/crashes/alerts/\(alert)")
        guard case .array(let readers)? = read.json?["lastDelivery"]?["readers"] else { return [] }
        return readers.map {
            "\($0["staff"]?.text.suffix(2).prefix(1) ?? "") \($0["state"]?.text ?? "") \($0["reason"]?.text ?? "-")"
        }
    }

    @Test
    func
        `A firing sends one mail per recipient even if an answer is lost, and waits for those not yet sent`()
        async throws
    {
        let mail = MailService()
        try await AnalyticsApp.run(mail.options) { app in
            let data = try await CrashData(app)
            let alert = try await Self.alert(app, [.ada, .eve])
            #expect(try await app.master("GET", "/crashes/alerts/\(alert)")["lastDelivery"] == "null")
            mail.state.withLock {
                $0.lost = 1
                $0.states["eve@example.org"] = ("queued", "not reached")
            }
            try await data.addHistory(try await data.issue(7, "Fault in 42", level: .fatal), "created")
            try await app.runAlerts()
            try await Self.wait(app, "error LIKE 'The mail has not been sent yet: not reached%'")
            #expect(try await app.master("GET", "/crashes/alerts/\(alert)")["lastDelivery.state"] == "\"waiting\"")
            mail.state.withLock { $0.states = [:] }
            try await Self.wait(app, "state = 'done'")
            #expect(mail.addresses() == ["ada@example.org", "eve@example.org"])
            #expect(try await Self.readers(app, alert) == [#"1 "sent" -"#, #"3 "sent" -"#])
            let read = try await app.master("GET", "/crashes/alerts/\(alert)")
            #expect(read["lastDelivery.state"] == "\"done\"" && read["lastDelivery.error"] == "null", "\(read)")
            let text = mail.state.withLock { $0.mails[0] }
            #expect(text.subject == "new: Fault in <int>")
            #expect(
                text.text.contains(
                    "#7 Fault in <int>\n  fatal, unresolved, 0 events, 0 users\n  https://backend.example.org/m/admin/apps/app1/crashes/issues/7\n"
                ), "\(text.text)")
        }
    }

    @Test
    func
        `Former or unauthorized staff get nothing, a missing address is reported, and a retry sends no mail twice`()
        async throws
    {
        let mail = MailService()
        try await AnalyticsApp.run(mail.options) { app in
            let data = try await CrashData(app)
            let alert = try await Self.alert(app, [.ada, .bob, .eve])
            mail.state.withLock {
                $0.staff[.bob] = nil
                $0.staff[.eve] = .some(nil)
            }
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            try await Self.wait(app, "state = 'dead'")
            #expect(mail.addresses() == ["ada@example.org"])
            let skipped = #"2 "skipped" "no longer a staff member, or may not read the app's crashes""#
            #expect(
                try await Self.readers(app, alert) == [#"1 "sent" -"#, skipped, #"3 "failed" "no e-mail address""#])
            let read = try await app.master("GET", "/crashes/alerts/\(alert)")
            #expect(
                read["lastDelivery.error"] == #""The mail to 1 of 3 recipients failed: no e-mail address.""#
                    && read["enabled"] == "true")
            mail.state.withLock { $0.staff[.eve] = "eve@example.org" }
            let delivery = try #require(read["lastDelivery.id"]).filter { $0 != "\"" }
            #expect(try await app.master("POST", "/crashes/alerts/\(alert)/deliveries/\(delivery)/retry").status == 202)
            try await Self.wait(app, "state = 'done'")
            #expect(mail.addresses() == ["ada@example.org", "eve@example.org"])
        }
    }

    @Test func `The delivery fails if no recipient may read crashes any more`() async throws {
        let mail = MailService()
        try await AnalyticsApp.run(mail.options) { app in
            let data = try await CrashData(app)
            let alert = try await Self.alert(app, [.ada])
            mail.state.withLock { $0.staff = [:] }
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            try await Self.wait(app, "state = 'dead'")
            #expect(mail.addresses() == [])
            let read = try await app.master("GET", "/crashes/alerts/\(alert)")
            #expect(
                read["lastDelivery.error"]
                    == #""None of the alert's recipients may read the app's crashes any more.""#)
        }
    }

    @Test func `Without a mail server no mail alert can be created, and an existing one shows why nothing is sent`()
        async throws
    {
        let mail = MailService()
        try await AnalyticsApp.run(mail.options) { app in
            let data = try await CrashData(app)
            let alert = try await Self.alert(app, [.ada])
            mail.state.withLock { $0.canSend = false }
            let body = #"{"name":"Other","kind":"newIssue",\#(Self.target([.ada]))}"#
            #expect(try await app.master("POST", "/crashes/alerts", body).isProblem(.notImplemented, field: "target"))
            let tried = try await app.master("POST", "/crashes/alerts/\(alert)/test")
            #expect(tried["delivered"] == "false" && tried["error"]?.contains("MARTLET_MAIL_HOST") == true, "\(tried)")
            try await data.addHistory(try await data.issue(1), "created")
            try await app.runAlerts()
            try await Self.wait(app, "error LIKE 'This server cannot send mail%'")
            mail.state.withLock { $0.canSend = true }
            try await Self.wait(app, "state = 'done'")
            #expect(mail.addresses() == ["ada@example.org"])
            #expect(try await data.count("crash_alerts") == 1)
        }
    }

    @Test func `A test sends one mail and shows whether it was sent`() async throws {
        let mail = MailService()
        try await AnalyticsApp.run(mail.options) { app in
            let alert = try await Self.alert(app, [.ada])
            let tried = try await app.master("POST", "/crashes/alerts/\(alert)/test")
            #expect(tried["delivered"] == "true" && tried["error"] == nil, "\(tried)")
            mail.state.withLock { $0.states["ada@example.org"] = ("suppressed", "bounced") }
            let refused = try await app.master("POST", "/crashes/alerts/\(alert)/test")
            #expect(
                refused["delivered"] == "false"
                    && refused["error"] == #""The mail to 1 of 1 recipients failed: bounced.""#,
                "\(refused)")
            #expect(
                mail.state.withLock { $0.mails.map(\.subject) } == ["test of a crash alert", "test of a crash alert"])
        }
    }

    @Test(arguments: [
        (#"{"type":"mail"}"#, "target"), (#"{"type":"mail","staff":[]}"#, "target.staff"),
        (#"{"type":"mail","staff":["x"]}"#, "target.staff"),
        (#"{"type":"mail","staff":["0193a000-0000-7000-8000-0000000000ff"]}"#, "target.staff"),
        (
            #"{"type":"mail","staff":["0193a000-0000-7000-8000-000000000001","0193A000-0000-7000-8000-000000000001"]}"#,
            "target.staff"
        ),
        (#"{"type":"mail","staff":"0193a000-0000-7000-8000-000000000001"}"#, "target"),
        (#"{"type":"mail","staff":["0193a000-0000-7000-8000-000000000001"],"url":"https://example.com"}"#, "target"),
        (#"{"type":"webhook","url":"https://example.com","staff":["0193a000-0000-7000-8000-000000000001"]}"#, "target"),
    ])
    func `Recipients who cannot get mail are refused`(target: String, field: String) async throws {
        try await AnalyticsApp.run(MailService().options) { app in
            let answer = try await app.master(
                "POST", "/crashes/alerts", #"{"name":"New","kind":"newIssue","target":\#(target)}"#)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await CrashData(app).count("crash_alerts") == 0)
        }
    }

    @Test func `A crash cannot write into a mail's headers, change its direction or show an end user's data`()
        throws
    {
        let title = #"KeyError: 'anna' of anna.b@example.org\r\nBcc: eve@example.com at 10.1.2.3 \u202e +4366012345678"#
        let body = #"""
            {"type":"crash.alert","data":{"alert":{"id":"x","name":"N\r\nX: y","kind":"newIssue"},"app":"app1","environment":"live","count":22,
            "issues":[{"number":7,"title":"\#(title)","culprit":"a\nb","level":"error","state":"regressed","events":3,"users":2,"firstRelease":"1.0\n","lastRelease":"1.1"}]}}
            """#
        let text = try #require(AlertText(body, linkingTo: Self.address))
        #expect(text.subject.hasPrefix("new: KeyError: <quoted> of <email>"), "\(text.subject)")
        for secret in ["anna", "10.1.2.3", "66012345678", "\r", "\u{202e}", "\0", "\nBcc", "\nX:"] {
            #expect(!text.text.contains(secret) && !text.subject.contains(secret), "\(secret) \(text)")
        }
        #expect(
            text.text.contains("at a b\n  error, regressed, 3 events, 2 users\n  release 1.0  to 1.1\n")
                || text.text.contains("  release 1.0 to 1.1\n"), "\(text.text)")
        #expect(text.text.contains("And 21 more.") && !text.subject.contains("\n"))
    }

    private static let address = URL(string: "http://127.0.0.1:8080")!

    @Test(arguments: [#""count":30,"#, ""])
    func `A mail with long titles stays within the limit, and counts what it leaves out`(
        count: String
    ) throws {
        let long = String(repeating: "界", count: 400)
        let issues = (1...20).map {
            #"{"number":\#($0),"title":"\#(long)","culprit":"\#(long)","level":"error","state":"unresolved","firstRelease":"\#(long)","lastRelease":"2"}"#
        }
        let body =
            #"{"data":{"alert":{"name":"N","kind":"newIssue"},"app":"app1","environment":"live",\#(count)"issues":[\#(issues.joined(separator: ","))]}}"#
        let text = try #require(AlertText(body, linkingTo: Self.address)).text
        let shown = text.split(separator: "\n").count { $0.hasPrefix("#") }
        #expect(
            text.utf8.count <= 16 << 10 && shown > 5 && text.contains("And \((count.isEmpty ? 20 : 30) - shown) more."),
            "\(shown): \(text)")
    }
}
