import Foundation
import MartletCompression
import MartletCore
import MartletPostgres
import MartletSentry
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct PostEnvelopeTests {
    private static let id = "9ec79c33ec9942ab8353589fcb2e04dc"

    @Test func `An event is answered with its id and becomes a report of an issue`() async throws {
        try await AnalyticsApp.run { app in
            let answer = try await app.envelope(
                [("event", TestEnvelope.crash(in: "Cart.add", release: "app@1.0+1", user: "7"))],
                header: #"{"event_id":"\#(Self.id)"}"#)
            #expect(answer.status == 200 && answer.text == #"{"id":"\#(Self.id)"}"#)
            #expect(
                try await app.rows(
                    "SELECT number, title, culprit, kind, platform, level, status, events, users FROM analytics.issues WHERE space = %"
                )
                    == ["1|EXC_BAD_ACCESS: at 0x10|Cart.add|crash|cocoa|5|unresolved|1|1"])
            #expect(
                try await app.rows(
                    "SELECT replace(event_id::text, '-', ''), level, handled, content #>> '{user,ip_address}' IS NULL, content #>> '{martlet,grouping,version}' FROM analytics.crash_events WHERE space = %"
                )
                    == ["\(Self.id)|5|false|true|1"])
            #expect(
                try await app.rows(
                    "SELECT kind, author, is_announced, details ->> 'event' FROM analytics.issue_history WHERE space = %"
                ) == ["created|service|false|\(Self.id)"])
        }
    }

    @Test(arguments: ["gzip", "deflate", "identity"])
    func `Compressed bodies are accepted`(_ coding: String) async throws {
        try await AnalyticsApp.run { app in
            let plain = TestEnvelope.bytes([("event", TestEnvelope.crash(in: "Cart.add", id: Self.id))])
            // Zlib: a header in front of DEFLATE, which gzip has inside.
            let gzip = try #require(Gzip.compress(plain))
            let bytes = coding == "gzip" ? gzip : coding == "deflate" ? Array(gzip[10..<(gzip.count - 8)]) : plain
            let answer = try await app.post(bytes, headers: ["Content-Encoding": coding])
            #expect(answer.status == 200 && answer["id"] == "\"\(Self.id)\"", "\(answer)")
            #expect(try await app.rows("SELECT events FROM analytics.issues WHERE space = %") == ["1"])
        }
    }

    /// `{"message":"packed"}` under `id`, compressed by PyPI's brotli and by the program zstd.
    @Test(arguments: [
        (
            "br",
            "G1UAUBwHdoyzhTkIb+cjVHoqpO1B6TntN0yihN8m4Vul0wcOOXD4AioKMFAsdpqjxGSFR56nBCovOaIsjX7fjhlz6/v1aiNNs4IGmgVslQQ="
        ),
        (
            "zstd",
            "KLUv/QRYfQIAsgQRGJCnOpRfgA4jctYShUDuClQ2k9qoGMucJSSaPbCqOfmHcu6C5LfCMyTRy8zwstZQdPIkWqoY1X3mKrFXJzNA8QYn3DACADQFQD0oKODbtzo="
        ),
    ])
    func `Bodies compressed by current clients are accepted`(_ coding: String, _ body: String) async throws {
        try await AnalyticsApp.run { app in
            let bytes = Array(try #require(Data(base64Encoded: body)))
            let answer = try await app.post(bytes, headers: ["Content-Encoding": coding])
            #expect(answer.status == 200 && answer["id"] == "\"\(Self.id)\"", "\(answer)")
            #expect(try await app.rows("SELECT title, events FROM analytics.issues WHERE space = %") == ["packed|1"])
            let cut = try await app.post(Array(bytes.dropLast()), headers: ["Content-Encoding": coding])
            #expect(
                cut.status == 400 && cut.header("X-Sentry-Error") == "the body does not match its Content-Encoding",
                "\(cut)")
        }
    }

    @Test(arguments: [
        ("", "", 400, "missing envelope header"), ("nonsense", "", 400, "invalid header: not a JSON object"),
        ("{}\n{}\n", "", 400, "missing type of item 1"),
        ("x", "gzip", 400, "the body does not match its Content-Encoding"),
        ("{}", "br", 400, "the body does not match its Content-Encoding"),
        ("{}", "lzma", 415, "send gzip, deflate, br or zstd"),
        (
            "{}\n{\"type\":\"event\",\"length\":2}\n{}\n{\"type\":\"event\",\"length\":2}\n{}", "", 400,
            "more than one event"
        ),
        (
            "{}\n{\"type\":\"event\",\"length\":1048577}\n" + String(repeating: "x", count: 1_048_577), "", 413,
            "an item of type 'event' has more than 1048576 bytes"
        ),
    ])
    func `Invalid requests are refused with a reason, and nothing is written`(
        _ body: String, _ coding: String, _ status: Int, _ cause: String
    ) async throws {
        try await AnalyticsApp.run { app in
            let answer = try await app.post(
                Array(body.utf8), headers: coding.isEmpty ? [:] : ["Content-Encoding": coding])
            #expect(
                answer.status == status && answer.header("X-Sentry-Error") == cause
                    && answer["causes.0"] == JSONValue.quote(cause) && answer["detail"] != nil, "\(answer)")
            #expect(app.isSpoolEmpty)
        }
    }

    @Test func `Only an ingest key is accepted`() async throws {
        try await AnalyticsApp.run { app in
            let answers = [
                try await app.client("POST", "/crash/api/1/envelope/", "{}"),
                try await app.master("POST", "/crash/api/1/store/", "{}"),
            ]
            #expect(answers.map(\.status) == [403, 403])
        }
    }

    @Test func `An empty envelope, and one with unknown items, are accepted`() async throws {
        try await AnalyticsApp.run { app in
            let empty = try await app.post(Array("{}".utf8))
            #expect(empty.status == 200 && empty.text == "{}")
            #expect(app.isSpoolEmpty)
            #expect(
                try await app.envelope([
                    ("transaction", "{}"), ("never_heard_of", "x"), ("check_in", "{}"), ("log", "{}"),
                ]).status == 200)
            // Counted, but not written one by one.
            #expect(app.isSpoolEmpty)
            #expect(
                try await app.rows(
                    "SELECT source, category, reason, quantity FROM analytics.crash_outcomes WHERE space = % ORDER BY category"
                )
                    == [
                        "server|default|unsupported|1", "server|log_item|unsupported|1", "server|monitor|unsupported|1",
                        "server|transaction|unsupported|1",
                    ])
        }
    }

    @Test(arguments: [
        (
            #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","started":1e308,"timestamp":-1e308,"errors":1e308,"duration":-1e308,"attrs":{"release":"1"}}"#,
            "session"
        ),
        (
            #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","started":"nan","errors":"inf","seq":18446744073709551616,"attrs":{"release":"1"}}"#,
            "session"
        ),
        (
            #"{"attrs":{"release":"1"},"aggregates":[{"started":"9999-12-31T23:59:59Z","exited":1e308,"errored":-1,"crashed":"nan","abnormal":"-inf"}]}"#,
            "sessions"
        ),
        (#"{"attrs":{"release":"1"},"aggregates":[{"exited":0.5},{"exited":"1"},7,null,{"exited":1}]}"#, "sessions"),
        (
            #"{"discarded_events":[{"category":"error","reason":"x","quantity":1e308},{"category":7,"quantity":"inf"},{"quantity":"nan"},{"quantity":-5},9]}"#,
            "client_report"
        ),
        (
            #"{"timestamp":1e308,"exception":[[],7,{"stacktrace":{"frames":[{"lineno":1e308,"instruction_addr":-1},{"lineno":"inf"}]}}],"level":{},"tags":7}"#,
            "event"
        ),
        (
            #"{"message":"a\u0000b","extra":{"n":1e-500,"m":[1e308,-1e999],"d":\#(String(repeating: "[", count: 60))\#(String(repeating: "]", count: 60))}}"#,
            "event"
        ),
        (#"{"event_id":7,"contexts":{"feedback":{"message":"\u0000","name":[],"contact_email":{}}}}"#, "feedback"),
        (#"{"comments":"\ud800","event_id":"x"}"#, "user_report"),
        ("", "sessions"), ("null", "session"), ("[]", "client_report"),
    ])
    func `Extreme numbers, times and texts are accepted and do not block later reports`(
        _ payload: String, _ type: String
    ) async throws {
        try await AnalyticsApp.run { app in
            let header = #"{"event_id":"\#(Self.id)","sent_at":"9999-12-31T23:59:59.999999999Z","dsn":7,"trace":[]}"#
            #expect(try await app.envelope([(type, payload)], header: header).status == 200)
            #expect(try await app.envelope([(type, payload)], header: #"{"sent_at":-1e308}"#).status == 200)
            try await app.report(TestEnvelope.crash(in: "behind"))
            #expect(
                try await app.rows("SELECT events FROM analytics.issues WHERE space = % AND culprit = 'behind'") == [
                    "1"
                ])
            #expect(
                !FileManager.default.fileExists(atPath: app.service.crashes.digester.directory + "/refused"),
                "set aside")
        }
    }

    @Test(arguments: [
        (
            "{}\r\n{\"type\":\"event\",\"length\":13}\r\n{\"message\":1}\r\n{\"type\":\"event\",\"length\":2}\r\n{}\r\n",
            400, "more than one event"
        ),
        ("{}\n{\"type\":\"event\",\"length\":99}\n{}", 400, "unexpected end of file in item 1"),
        ("{}\n{\"type\":\"event\",\"length\":-1}\n{}", 400, "unexpected end of file in item 1"),
        ("{}\n{\"type\":\"event\",\"length\":\"nan\"}\n{}", 400, "unexpected end of file in item 1"),
        ("{}\n{\"type\":\"event\",\"length\":1e308}\n{}", 400, "unexpected end of file in item 1"),
        ("{}\n{\"type\":\"event\",\"length\":1}\n{}", 400, "missing newline after the payload of item 1"),
        ("{}\n{\"type\":7}\n{}", 400, "missing type of item 1"), ("[]\n", 400, "invalid header: not a JSON object"),
        (
            "{}\n{\"type\":\"event\",\"x\":\"" + String(repeating: "x", count: 9_000) + "\"}\n{}", 400,
            "the header of item 1 has more than 8192 bytes"
        ),
        ("{}\n" + String(repeating: "{\"type\":\"session\"}\n{}\n", count: 1_001), 400, "more than 1000 items"),
    ])
    func `A malformed envelope is a client error`(_ body: String, _ status: Int, _ cause: String) async throws {
        try await AnalyticsApp.run { app in
            let answer = try await app.post(Array(body.utf8))
            #expect(answer.status == status && answer.header("X-Sentry-Error") == cause, "\(answer)")
            #expect(app.isSpoolEmpty)
        }
    }

    @Test func `Lines may end in CRLF, and attachments may come without an event`() async throws {
        try await AnalyticsApp.run { app in
            let body =
                "{\"event_id\":\"\(Self.id)\"}\r\n{\"type\":\"event\",\"length\":15}\r\n{\"message\":\"m\"}\r\n{\"type\":\"attachment\",\"length\":5}\r\nhello\r\n"
            let answer = try await app.post(Array(body.utf8))
            #expect(answer.status == 200)
            #expect(try await app.rows("SELECT title FROM analytics.issues WHERE space = %") == ["m"])
            #expect(try await app.rows("SELECT size FROM analytics.crash_attachments WHERE space = %") == ["5"])
            #expect(try await app.envelope([("attachment", "of nothing")]).status == 200)
            #expect(
                try await app.rows("SELECT category, reason, quantity FROM analytics.crash_outcomes WHERE space = %")
                    == ["attachment|invalid|1"])
        }
    }

    @Test(arguments: [
        ("{\"exception\":", "Unreadable report: Not valid JSON at byte 13."),
        ("[1]", "Unreadable report: the event is not an object"), ("", "Unreadable report: Not valid JSON at byte 0."),
    ])
    func `An unreadable report is kept as an issue of its own`(_ event: String, _ title: String) async throws {
        try await AnalyticsApp.run { app in
            let id = try await app.report(event)
            #expect(
                try await app.rows("SELECT kind, title, events FROM analytics.issues WHERE space = %") == [
                    "broken|\(title)|1"
                ])
            #expect(
                try await app.rows(
                    "SELECT replace(event_id::text, '-', ''), content ->> 'raw' FROM analytics.crash_events WHERE space = %"
                ) == ["\(id)|\(event)"])
        }
    }

    @Test func `Over quota, clients are told which categories to hold back and for how long`() async throws {
        var options = AnalyticsOptions()
        options.crashes.quota.errors = 2
        // The minute must not end in between.
        let start = Date()
        try await AnalyticsApp.run(options, now: { start }) { app in
            for _ in 0..<2 { #expect(try await app.envelope([("event", "{}")]).status == 200) }
            let refused = try await app.envelope([("event", "{}")])
            #expect(refused.status == 429)
            #expect(
                refused.header("X-Sentry-Rate-Limits")?.wholeMatch(of: #/\d+:error;default;security:key:quota/#) != nil,
                "\(refused)")
            #expect(refused.header("Retry-After") != nil)
            let mixed = try await app.envelope([
                ("event", "{}"),
                ("session", #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","attrs":{"release":"1"}}"#),
            ])
            #expect(
                mixed.status == 200 && mixed.header("X-Sentry-Rate-Limits") != nil && mixed.header("Retry-After") == nil
            )
            #expect(try await app.rows("SELECT sum(events) FROM analytics.issues WHERE space = %") == ["2"])
            #expect(try await app.rows("SELECT sessions FROM analytics.crash_sessions WHERE space = %") == ["1"])
            // Attachments count with their report.
            #expect(try await app.envelope([("attachment", "hello"), ("event", "{}")]).status == 429)
            #expect(try await app.rows("SELECT count(*) FROM analytics.crash_attachments WHERE space = %") == ["0"])
            #expect(
                try await app.rows(
                    "SELECT category, quantity FROM analytics.crash_outcomes WHERE space = % AND reason = 'rate_limit' ORDER BY 1"
                )
                    == ["attachment|1", "error|3"])
        }
    }

    @Test func `A full spool answers with a rate limit, never with a server error`() async throws {
        var options = AnalyticsOptions()
        options.crashes.spoolSizeInBytes = 100
        try await AnalyticsApp.run(options) { app in
            let answer = try await app.envelope([("event", TestEnvelope.crash(in: "f"))])
            #expect(answer.status == 429 && answer.header("X-Sentry-Rate-Limits") == "60::key:spool_full")
        }
    }

    @Test func `An unwritable spool also answers with a rate limit`() async throws {
        var options = AnalyticsOptions()
        options.crashes.spoolDirectory = "/proc/nowhere"
        try await AnalyticsApp.run(options) { app in
            let answer = try await app.envelope([("event", "{}")])
            #expect(answer.status == 429)
        }
    }

    @Test(arguments: ["plain", "base64"])
    func `Older clients can store a single event`(_ form: String) async throws {
        try await AnalyticsApp.run { app in
            let event = Array(TestEnvelope.crash(in: "old", id: Self.id).utf8)
            let packed = try #require(Gzip.compress(event))
            let body = form == "plain" ? event : Array(Data(packed[10..<(packed.count - 8)]).base64EncodedString().utf8)
            let answer = try await app.gateway.acting(as: app.principal(.ingest)).send(
                "POST", "/crash/api/1/store/", bytes: body)
            #expect(answer.text == #"{"id":"\#(Self.id)"}"#)
            #expect(try await app.rows("SELECT culprit FROM analytics.issues WHERE space = %") == ["old"])
        }
    }

    @Test func `Attachments, user feedback and the client's own counts are stored with the report`() async throws {
        try await AnalyticsApp.run { app in
            let words = #"{"event_id":"\#(Self.id)","name":"Ann","email":"a@b.c","comments":"It broke."}"#
            let counts = #"{"discarded_events":[{"category":"error","reason":"queue_overflow","quantity":4}]}"#
            let answer = try await app.envelope(
                [
                    ("event", TestEnvelope.crash(in: "f")), ("attachment", "hello"), ("user_report", words),
                    ("client_report", counts),
                ], header: #"{"event_id":"\#(Self.id)"}"#)
            #expect(answer.status == 200)
            #expect(
                try await app.rows(
                    "SELECT name, content_type, kind, size FROM analytics.crash_attachments WHERE space = %") == [
                        "attachment|application/octet-stream|event.attachment|5"
                    ])
            #expect(
                try await app.rows(
                    "SELECT replace(event_id::text, '-', ''), name, email, message FROM analytics.crash_feedback WHERE space = %"
                ) == ["\(Self.id)|Ann|a@b.c|It broke."])
            #expect(
                try await app.rows(
                    "SELECT source, category, reason, quantity FROM analytics.crash_outcomes WHERE space = %") == [
                        "client|error|queue_overflow|4"
                    ])
        }
    }
}
