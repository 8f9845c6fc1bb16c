import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import AnalyticsTickets

@Suite struct FeedbackTests {
    private static let user = "0193a000-0000-7000-8000-0000000000aa"
    /// The smallest possible PNG.
    private static let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    @Test func `feedback becomes a ticket`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...1)
            let space = try await app.service.spaces.space(of: "app1", .live)
            let event = "11112222333344445555666677778888"
            try await app.postgres.execute(
                """
                INSERT INTO analytics.crash_events (space, event_id, issue, received, at, person, level, handled, stage, os, device, configuration, variants, message,
                    app_hash, system_hash, algorithm, content)
                SELECT \(space.id), \(event)::text::uuid, id, now(), now(), 0, 5, FALSE, '', '', '', '', '', '', '\\x00'::bytea || substring(sha256('') FOR 15),
                    '\\x00'::bytea || substring(sha256('') FOR 15), 1, '{}' FROM analytics.issues
                """)
            let body = """
                {"message":"The app froze\\nwhen I paid","name":"Kim","email":"kim@example.org","appVersion":"1.4","eventId":"\(event)","id":"f1",
                "screenshot":"\(Self.png)"}
                """
            let answer = try await app.client("POST", "/feedback", body, user: Self.user)
            #expect(answer.status == 204 && answer.text.isEmpty, "\(answer)")
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(
                ticket["type"] == "\"feedback\"" && ticket["title"] == "\"The app froze\""
                    && ticket["description"] == "\"\"" && ticket["createdBy"] == "\"client\"", "\(ticket)")
            #expect(
                ticket["feedback.message"] == #""The app froze\u000awhen I paid""#
                    && ticket["feedback.name"] == "\"Kim\"" && ticket["feedback.user"] == "\"\(Self.user)\"")
            #expect(
                ticket["feedback.eventId"] == "\"\(event)\"" && ticket["feedback.email"] == "\"kim@example.org\""
                    && ticket["appVersion"] == "\"1.4\"")
            #expect(
                ticket.numbers("issues") == [1] && ticket["attachments.0.contentType"] == "\"image/png\""
                    && ticket["attachments.0.by"] == "\"client\"")
            #expect(
                try await app.ask("GET", "/tickets/1/attachments/1").header("content-disposition")?.hasPrefix("inline")
                    == true)
            #expect(try await app.numbers("?search=paid&type=feedback") == [1])

            // A retry after a lost answer.
            #expect(try await app.client("POST", "/feedback", body).status == 204)
            #expect(try await app.numbers("") == [1])
            #expect(try await app.client("POST", "/feedback", #"{"message":"short"}"#).status == 204)
            #expect(try await app.master("POST", "/feedback", #"{"message":"short"}"#).status == 204)
            #expect(try await app.numbers("") == [3, 2, 1])
            #expect(try await app.ask("GET", "/tickets/export?search=2").text.hasSuffix(#""short""# + "\r\n"))
        }
    }

    static let refusals: [(body: String, code: ErrorCode, field: String?)] = [
        ("{", .invalidJSON, nil), ("{}", .invalidBody, "message"), (#"{"message":""}"#, .invalidBody, "message"),
        (#"{"message":" \n"}"#, .invalidBody, "message"),
        (#"{"message":"a\u0000"}"#, .invalidBody, nil), (#"{"message":"m","mood":1}"#, .invalidBody, "mood"),
        (#"{"message":"m","user":"x"}"#, .invalidBody, "user"),
        (#"{"message":"m","name":"a\nb"}"#, .invalidBody, "name"),
        (#"{"message":"m","eventId":"12"}"#, .invalidBody, "eventId"),
        (#"{"message":"m","screenshot":"?"}"#, .invalidBody, "screenshot"),
        (#"{"message":"m","screenshot":"PGh0bWw+"}"#, .invalidBody, "screenshot"),
        (#"{"message":"m","appVersion":""}"#, .invalidBody, "appVersion"),
        (#"{"message":"m","id":""}"#, .invalidBody, "id"),
        (#"{"message":"\#(String(repeating: "x", count: 8_001))"}"#, .invalidBody, "message"),
        (#"{"message":"m","screenshot":"\#(String(repeating: "A", count: 6 << 20))"}"#, .payloadTooLarge, nil),
    ]

    @Test func `invalid feedback is refused, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            _ = try await app.client("POST", "/feedback", #"{"message":"m"}"#)
            let before = try await app.fingerprint()
            for (body, code, field) in Self.refusals {
                let answer = try await app.client("POST", "/feedback", body)
                #expect(answer.isProblem(code, field: field), "\(body.prefix(60)): \(answer)")
                #expect(try await app.fingerprint() == before, "\(body.prefix(60))")
            }
            #expect(try await app.ingest("POST", "/feedback", #"{"message":"m"}"#).isProblem(.forbidden))
            #expect(try await app.staff("POST", "/feedback", #"{"message":"m"}"#).isProblem(.forbidden))
            #expect(try await app.client("GET", "/tickets").isProblem(.forbidden), "clients see no tickets")
            #expect(try await app.fingerprint() == before)
            let space = try await app.service.spaces.space(of: "app1", .live)
            #expect(
                try await app.service.tickets.attachments.files.list(
                    AttachmentStore.blobSpace(space), after: nil, limit: 10
                ).blobs.isEmpty)
        }
    }

    @Test func `feedback is limited per hour, app and user`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let tickets = Tickets(
                postgres: app.postgres, spaces: app.service.spaces, files: app.service.tickets.attachments.files,
                logger: .silent,
                feedbackLimits: FeedbackIntake.Limits(inSpace: 5, ofUser: 2), now: { Date() },
                lockReports: IssueStore.lock,
                resolveIssues: { _, _, _, _, _ in })
            let refusals = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        do {
                            try await tickets.feedback.store(Feedback(message: "m"), in: space)
                            return false
                        } catch FeedbackRefusal.tooMany {
                            return true
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(refusals.count { !$0 } == 5)
            #expect(try await app.numbers("").count == 5)
            // The next hour begins.
            try await app.postgres.execute(
                "UPDATE analytics.ticket_spaces SET feedback_hour = feedback_hour - interval '1 hour'")
            for _ in 0..<2 { try await tickets.feedback.store(Feedback(message: "m", userID: Self.user), in: space) }
            let before = try await app.fingerprint()
            await #expect(throws: FeedbackRefusal.self) {
                try await tickets.feedback.store(Feedback(message: "m", userID: Self.user), in: space)
            }
            #expect(try await app.fingerprint() == before)
            try await tickets.feedback.store(Feedback(message: "m"), in: space)
            let other = try await app.service.spaces.space(of: "app1", .test)
            try await tickets.feedback.store(Feedback(message: "m", userID: Self.user), in: other)

            try await app.postgres.execute("UPDATE analytics.ticket_spaces SET feedback_count = 300")
            let answer = try await app.client("POST", "/feedback", #"{"message":"m"}"#)
            #expect(
                answer.isProblem(.tooManyRequests)
                    && (1...3_600).contains(answer.header("retry-after").flatMap { Int($0) } ?? 0), "\(answer)")
        }
    }

    @Test func `one anonymous address does not use up everybody's limit`() async throws {
        // The hour must not end in between.
        let start = Date()
        try await AnalyticsApp.run(now: { start }) { app in
            func say(_ user: String? = nil, from address: String) async throws -> Answer {
                try await app.client(
                    "POST", "/feedback", #"{"message":"m"}"#, user: user, headers: [HeaderName.address: address])
            }
            for _ in 0..<FeedbackIntake.Limits().ofSource {
                let answer = try await say(from: "192.0.2.1")
                #expect(answer.status == 204)
            }
            let (refused, other, signedIn) = (
                try await say(from: "192.0.2.1"), try await say(from: "192.0.2.2"),
                try await say(Self.user, from: "192.0.2.1")
            )
            #expect(refused.isProblem(.tooManyRequests))
            #expect(other.status == 204 && signedIn.status == 204)
            #expect(
                try await app.master(
                    "POST", "/feedback", #"{"message":"m"}"#, headers: [HeaderName.address: "192.0.2.1"]
                ).status == 204)
        }
    }

    @Test func `an IPv6 network counts as one source, and counts restart every hour`() {
        let (sources, space) = (FeedbackSources(), Space(id: 1, appID: "app1", environment: .live))
        let now = Date(timeIntervalSince1970: 1_795_338_000)
        #expect(sources.take("2001:db8:1:2::1", in: space, upTo: 1, at: now))
        #expect(!sources.take("2001:db8:1:2::2", in: space, upTo: 1, at: now))
        #expect(
            sources.take("2001:db8:1:3::1", in: space, upTo: 1, at: now)
                && sources.take(
                    "2001:db8:1:2::1", in: Space(id: 2, appID: "app1", environment: .test), upTo: 1, at: now)
        )
        #expect(sources.take("2001:db8:1:2::1", in: space, upTo: 1, at: now.addingTimeInterval(3_600)))
    }

    @Test func `feedback on a user's crash report is erased with the user`() async throws {
        try await AnalyticsApp.run { app in
            let event = "9ec79c33ec9942ab8353589fcb2e04dc"
            try await app.report(TestEnvelope.crash(in: "f", user: Self.user.uppercased(), id: event))
            let words = #"{"event_id":"\#(event)","name":"Kim","email":"kim@example.org","comments":"secret words"}"#
            #expect(try await app.envelope([("user_report", words)]).status == 200)
            try await app.digested()
            #expect(try await app.ask("GET", "/tickets/1")["feedback.name"] == "\"Kim\"")
            let service = app.gateway.acting(as: .service("auth"))
            var (after, calls) = ("", 0)
            repeat {
                let next = after.isEmpty ? "" : #","after":"\#(after)""#
                let erased = try await service.post(
                    "/internal/users/erase", #"{"app":"app1","environment":"live","user":"\#(Self.user)"\#(next)}"#)
                #expect(erased.status == 200, "\(erased)")
                after =
                    erased["next"].map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "\"")) }.flatMap {
                        $0 == "null" ? nil : $0
                    } ?? ""
                calls += 1
            } while !after.isEmpty && calls < 20
            #expect(try await app.rows("SELECT count(*) FROM analytics.crash_events") == ["0"])
            #expect(try await app.rows("SELECT count(*) FROM analytics.crash_feedback") == ["0"])
            #expect(try await app.ask("GET", "/tickets/1")["feedback"] == "null")
            #expect(try await app.ask("GET", "/tickets/1")["title"] == "\"Feedback (erased)\"")
        }
    }

    @Test func `feedback from Sentry's clients carries its version, picture and sender`() async throws {
        try await AnalyticsApp.run { app in
            let id = "9ec79c33ec9942ab8353589fcb2e04aa"
            let said = #"{"feedback":{"message":"It froze","contact_email":"kim@example.org"}}"#
            let words =
                #"{"event_id":"\#(id)","release":"org.example.shop@1.4.2+57","user":{"id":"\#(Self.user)"},"contexts":\#(said)}"#
            let gif = "GIF89a and so on"
            #expect(
                try await app.envelope([("feedback", words), ("attachment", gif), ("attachment", "no picture")]).status
                    == 200)
            try await app.digested()
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(
                ticket["appVersion"] == "\"1.4.2\"" && ticket["feedback.user"] == "\"\(Self.user)\""
                    && ticket["attachmentCount"] == "1", "\(ticket)")
            #expect(
                ticket["attachments.0.contentType"] == "\"image/gif\"" && ticket["attachments.0.by"] == "\"client\"")
            #expect(try await app.rows("SELECT count(*) FROM analytics.crash_attachments") == ["0"])

            // Feedback of the user, so it is erased with the user.
            let request = #"{"app":"app1","environment":"live","user":"\#(Self.user)","after":"tickets:"}"#
            #expect(
                try await app.gateway.acting(as: .service("auth")).post("/internal/users/erase", request)[
                    "erased.feedback"] == "1")
            #expect(try await app.rows("SELECT count(*) FROM analytics.crash_feedback") == ["0"])
            #expect(try await app.ask("GET", "/tickets/1")["attachmentCount"] == "0")
        }
    }

    @Test func `the report that feedback refers to may arrive later`() async throws {
        try await AnalyticsApp.run { app in
            let event = "9ec79c33ec9942ab8353589fcb2e04ab"
            #expect(
                try await app.envelope([("user_report", #"{"event_id":"\#(event)","comments":"first the words"}"#)])
                    .status == 200)
            try await app.digested()
            #expect(try await app.ask("GET", "/tickets/1")["issueCount"] == "0")
            try await app.report(TestEnvelope.crash(in: "f", release: "shop@1.4", id: event))
            // The issue is attached together with the digestion of the report.
            try await app.digested()
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(ticket.numbers("issues") == [1], "\(ticket)")
            let history = try await app.ask("GET", "/tickets/1/history")
            #expect(history["data.1.act"] == "\"issueAttached\"" && history["count"] == "2", "\(history)")
            // A report that arrived before provides its version.
            #expect(
                try await app.client("POST", "/feedback", #"{"message":"again","eventId":"\#(event)"}"#).status == 204)
            let second = try await app.ask("GET", "/tickets/2")
            #expect(second["appVersion"] == "\"1.4\"" && second.numbers("issues") == [1], "\(second)")
        }
    }

    @Test func `feedback and its report are linked if they arrive at the same time`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let events = (0..<12).map { _ in UUID().uuidString.lowercased().filter { $0 != "-" } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for event in events {
                    group.addTask { try await app.report(TestEnvelope.crash(in: "f", id: event)) }
                    group.addTask {
                        try await app.service.tickets.feedback.store(Feedback(message: "m", eventID: event), in: space)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await app.rows("SELECT count(DISTINCT ticket) FROM analytics.ticket_issues") == ["12"])
        }
    }

    @Test func `pictures that do not fit are dropped, and refused feedback leaves no file`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let files = app.service.tickets.attachments.files
            let blobs = { try await files.list(AttachmentStore.blobSpace(space), after: nil, limit: 10).blobs.count }
            try await app.ticket(#"{"title":"t"}"#)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.ticket_attachments (ticket, number, blob, name, content_type, size, sha256, author)
                SELECT id, 99, md5('x'), 'x', 'x', \(TicketLimits.attachmentsOfFeedbackInBytes - 100), md5('') || md5(''), 'x' FROM analytics.tickets
                """)
            let pictures = [60, 600, 20].map { size in
                Feedback.File(
                    name: "p\(size)", contentType: nil,
                    bytes: ByteBuffer(bytes: Array("GIF89a".utf8) + Array(repeating: 0, count: size)))
            }
            try await app.service.tickets.feedback.store(Feedback(message: "m", files: pictures), in: space)
            #expect(try await app.ask("GET", "/tickets/2")["attachmentCount"] == "1")
            #expect(
                try await app.ask("GET", "/tickets/2/attachments/1").status == 200, "the stored one has its bytes"
            )
            #expect(try await blobs() == 1)

            // All but two are refused under the lock, because others of the user have been counted meanwhile.
            let tickets = Tickets(
                postgres: app.postgres, spaces: app.service.spaces, files: files, logger: .silent,
                feedbackLimits: FeedbackIntake.Limits(ofUser: 2), now: { Date() }, lockReports: IssueStore.lock,
                resolveIssues: { _, _, _, _, _ in })
            let taken = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        (try? await tickets.feedback.store(
                            Feedback(message: "m", userID: Self.user, files: [pictures[2]]), in: space)) != nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(taken == 2)
            #expect(
                try await app.rows("SELECT count(*) FROM analytics.ticket_feedback WHERE user_id IS NOT NULL") == ["2"])
            #expect(
                try await blobs()
                    == (try await app.rows("SELECT count(*) FROM analytics.ticket_attachments WHERE is_feedback"))
                    .compactMap { Int($0) }[0])
        }
    }

    @Test func `feedback leaves room for the team's tickets and files`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.ticket_attachments (ticket, number, blob, name, content_type, size, sha256, author)
                SELECT id, 99, md5('x'), 'x', 'x', \(TicketLimits.attachmentsOfFeedbackInBytes), md5('') || md5(''), 'x' FROM analytics.tickets
                """)
            #expect(
                try await app.client("POST", "/feedback", #"{"message":"m","screenshot":"\#(Self.png)"}"#).status == 204
            )
            #expect(try await app.ask("GET", "/tickets/2")["attachmentCount"] == "0", "only the text was stored")
            let space = try await app.service.spaces.space(of: "app1", .live)
            #expect(
                try await app.service.tickets.attachments.files.list(
                    AttachmentStore.blobSpace(space), after: nil, limit: 10
                ).blobs.isEmpty)
            #expect(try await app.ask("POST", "/tickets/1/attachments?name=a", "x").status == 201)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.tickets (space, number, type, status, priority, title, position, generation, author)
                SELECT \(space.id), n, 'task', 'todo', 'low', 'x', 'a0', 0, 'service' FROM generate_series(3, \(TicketLimits.ticketsForFeedback)) AS n
                """, timeout: .seconds(60))
            #expect(try await app.client("POST", "/feedback", #"{"message":"m"}"#).isProblem(.limitExceeded))
            try await app.ask("PATCH", "/tickets/settings", #"{"prefix":"APP"}"#)
            try await app.postgres.execute("UPDATE analytics.ticket_spaces SET last_number = 100000")
            #expect(try await app.ask("POST", "/tickets", #"{"title":"ours"}"#).status == 201)
        }
    }

    @Test func `feedback that arrives twice at once becomes one ticket`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let feedback = Feedback(
                message: "m", key: "sentry:1",
                files: [
                    Feedback.File(name: "", contentType: nil, bytes: ByteBuffer(bytes: Data(base64Encoded: Self.png)!))
                ])
            let numbers = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await app.service.tickets.feedback.store(feedback, in: space) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(numbers == Array(repeating: 1, count: 8))
            #expect(
                try await app.service.tickets.attachments.files.list(
                    AttachmentStore.blobSpace(space), after: nil, limit: 10
                ).blobs.count == 1)
            #expect(try await app.ask("GET", "/tickets/1")["attachments.0.name"] == "\"screenshot-1\"")
        }
    }

    @Test func `feedback in envelopes is cut to the limits`() throws {
        let long = String(repeating: "ä", count: 9_000)
        let fitted = try #require(
            Feedback.fitted(
                message: "\u{0}\(long)", name: "a\nb", email: "", appVersion: long, eventID: "nonsense", key: long))
        #expect(
            fitted.message.unicodeScalars.count == 8_000 && fitted.name == "ab" && fitted.email == nil
                && fitted.appVersion?.count == 64)
        #expect(fitted.eventID == nil && fitted.key?.count == 100)
        #expect(Feedback.fitted(message: " \u{0}\n") == nil)
        for (message, title) in [
            ("one\ntwo", "one"), (String(repeating: "x", count: 81), String(repeating: "x", count: 79) + "…"),
            ("\r\n  \n  b ", "b"), ("\n", "Feedback"),
        ] {
            #expect(Feedback(message: message).title == title)
        }
    }

    @Test func `a user's feedback is exported and erased`() async throws {
        try await AnalyticsApp.run { app in
            let service = app.gateway.acting(as: .service("auth"))
            // Events are exported before, crashes after.
            let request = #"{"app":"app1","environment":"live","user":"\#(Self.user)","after":"tickets:"}"#
            #expect(try await service.post("/internal/users/export", request).text.isEmpty)
            _ = try await app.client(
                "POST", "/feedback",
                #"{"message":"secret one","name":"Kim","email":"kim@example.org","screenshot":"\#(Self.png)"}"#,
                user: Self.user)
            _ = try await app.client("POST", "/feedback", #"{"message":"secret two"}"#, user: Self.user)
            _ = try await app.client(
                "POST", "/feedback", #"{"message":"of another"}"#, user: "0193a000-0000-7000-8000-0000000000bb")
            _ = try await app.client(
                "POST", "/feedback", #"{"message":"secret three","screenshot":"\#(Self.png)"}"#, user: Self.user)
            #expect(try await app.ask("DELETE", "/tickets/4/attachments/1").status == 204)
            try await app.change(1, #"{"title":"secret one, renamed"}"#)
            try await app.ask("POST", "/tickets/1/comments", #"{"text":"ours"}"#)

            let export = try await service.post("/internal/users/export", request).text.split(separator: "\n").map {
                try JSONValue(parsing: $0.utf8)
            }
            try #require(export.count == 4, "\(export)")
            #expect(
                export.map { $0["kind"] } == [
                    .string("feedback"), .string("feedbackFile"), .string("feedback"), .string("feedback"),
                ])
            #expect(
                export[0]["service"] == .string("analytics") && export[0]["data"]?["message"] == .string("secret one")
                    && export[0]["data"]?["email"] == .string("kim@example.org"))
            #expect(
                export[1]["data"]?["base64"] == .string(Self.png)
                    && export[1]["data"]?["contentType"] == .string("image/png"))

            let erased = try await service.post("/internal/users/erase", request)
            #expect(erased["erased.feedback"] == "3" && erased["next"] == "\"crashes:\"", "\(erased)")
            let left = try await app.postgres.query(
                """
                SELECT (SELECT coalesce(string_agg(t::text, ' '), '') FROM analytics.tickets AS t) || (SELECT coalesce(string_agg(h::text, ' '), '') FROM analytics.ticket_history AS h)
                    || (SELECT coalesce(string_agg(f::text, ' '), '') FROM analytics.ticket_feedback AS f) || (SELECT coalesce(string_agg(a::text, ' '), '') FROM analytics.ticket_attachments AS a)
                """)[0].decode(0, as: String.self)
            for word in ["secret", "Kim", "kim@", Self.user, "screenshot"] { #expect(!left.contains(word), "\(word)") }
            #expect(left.contains("of another"))
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(
                ticket["feedback"] == "null" && ticket["title"] == "\"Feedback (erased)\""
                    && ticket["commentCount"] == "1", "\(ticket)")
            let space = try await app.service.spaces.space(of: "app1", .live)
            // Attachments removed by staff are kept for a week, for a backup made earlier.
            #expect(
                try await app.service.tickets.attachments.files.list(
                    AttachmentStore.blobSpace(space), after: nil, limit: 10
                ).blobs.count == 1)
            #expect(try await service.post("/internal/users/export", request).text.isEmpty)
            #expect(try await service.post("/internal/users/erase", request)["erased"] == "{}", "harmless to repeat")
            #expect(
                try await service.post("/internal/users/export", #"{"app":"app1","environment":"live","user":"x"}"#)
                    .isProblem(.invalidBody, field: "user"))
        }
    }
}
