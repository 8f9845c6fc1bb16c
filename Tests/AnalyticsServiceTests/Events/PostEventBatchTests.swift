import Foundation
import HTTPTypes
import MartletAPI
import MartletCompression
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct PostEventBatchTests {
    @Test func `each kind of message is stored with its content`() async throws {
        try await AnalyticsApp.run { app async throws in
            let context =
                #""context":{"app":{"version":"1.2.3","build":"45"},"os":{"name":"iOS","version":"17.2"},"device":{"manufacturer":"Apple","model":"iPhone15,2"},"locale":"de_CH","experiments":"size=b, checkout=dark"}"#
            let answer = try await app.batch(
                #"{"type":"track","event":"Bought","userId":"u1","messageId":"m1","timestamp":"2026-01-01T00:00:00Z","properties":{"price":4.90,"sku":"a"},\#(context)}"#,
                #"{"type":"screen","name":"Home","anonymousId":"d1","messageId":"m2"}"#,
                #"{"type":"page","properties":{"path":"/start"},"anonymousId":"d1","messageId":"m3"}"#,
                #"{"type":"identify","userId":"u1","traits":{"name":"Ann"},"messageId":"m4"}"#,
                #"{"type":"group","userId":"u1","groupId":"g1","traits":{"size":3},"messageId":"m5"}"#,
                #"{"type":"alias","userId":"u1","previousId":"d0","messageId":"m6"}"#,
                sentAt: EventTime.date("2026-01-01T00:00:00Z"),
                headers: ["Config-Version": #""12";date="2026-01-01T00:00:00Z""#])
            #expect(answer.status == 200 && answer.text == #"{"accepted":6,"success":true}"#, "\(answer)")
            let events = try await app.events().sorted { $0.kind < $1.kind }
            #expect(events.map(\.kind) == [1, 2, 3, 4, 5, 6])
            #expect(events.map(\.name) == ["Bought", "Home", "/start", nil, nil, nil])
            #expect(
                events.map(\.properties) == [
                    #"{"sku": "a", "price": 4.90}"#, "{}", #"{"path": "/start"}"#, "{}",
                    #"{"traits": {"size": 3}, "groupId": "g1"}"#, "{}",
                ])
            let bought = events[0]
            #expect(
                bought.release == "1.2.3+45" && bought.os == "iOS 17.2" && bought.device == "Apple iPhone15,2"
                    && bought.country == "CH")
            #expect(bought.configuration == "12" && bought.variants == "checkout=dark, size=b")
            let space = try await app.space
            #expect(
                events.map(\.person)
                    == [1, 0, 0, 1, 1, 1].map {
                        $0 == 1 ? Person.account("u1", in: space) : Person.device("d1", in: space)
                    })
            #expect(
                try await app.postgres.query("SELECT traits::text FROM analytics.people WHERE traits <> '{}'").map {
                    try $0.decode(0, as: String.self)
                } == [#"{"name": "Ann"}"#])
        }
    }

    @Test func `valid messages are stored although others in the batch are invalid`() async throws {
        try await AnalyticsApp.run { app async throws in
            let answer = try await app.batch(
                track("a"), #"{"type":"track","userId":"u1"}"#, "7", track("b"), #"{"type":"dance","userId":"u"}"#,
                #"{"type":"track","event":"x","timestamp":"yesterday"}"#,
                #"{"type":"track","event":"x","properties":[1]}"#,
                #"{"type":"identify","traits":{}}"#, #"{"type":"group","userId":"u"}"#,
                #"{"type":"alias","userId":"u"}"#,
                #"{"type":"alias","previousId":"u"}"#,
                #"{"type":"track","event":"\#(String(repeating: "e", count: 256))"}"#,
                #"{"type":"track","event":"x","properties":{"a":"\#(String(repeating: "e", count: 33_000))"}}"#,
                #"{"type":"track","event":true}"#, "null")
            #expect(answer.status == 200 && answer["accepted"] == "2")
            guard case .array(let rejected)? = answer.json?["rejected"] else { throw Missing() }
            #expect(rejected.map { $0["index"]?.text ?? "" } == (["1", "2"] + (4...14).map(String.init)))
            #expect(
                rejected.map { $0["field"]?.scalar } == [
                    "event", nil, "type", "timestamp", "properties", "userId", "groupId", "previousId", "userId",
                    "event", nil, "event", nil,
                ])
            #expect(rejected.allSatisfy { $0["reason"]?.scalar != nil })
            #expect(try await app.events().map(\.name) == ["a", "b"])
        }
    }

    @Test func `a repeated message is stored once, whatever batch it comes in`() async throws {
        try await AnalyticsApp.run { app async throws in
            for _ in 0..<3 {
                #expect(
                    try await app.batch(track("a", id: "1"), track("b", id: "2"), track("a", id: "1"))["accepted"]
                        == "3")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<20 {
                    group.addTask {
                        try await app.batch(track("b", id: "2"), track("c", id: "\(round % 4)c"), track("a", id: "1"))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await app.events().compactMap(\.name).sorted() == ["a", "b", "c", "c", "c", "c"])
        }
    }

    @Test func `two spaces do not share messages`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(track("a", id: "1"))
            var other = app
            other.environment = .test
            try await other.batch(track("a", id: "1"))
            let persons = try await app.events().map(\.person)
            #expect(persons.count == 2 && Set(persons).count == 2)
        }
    }

    @Test func `a message of yesterday is not stored again today`() async throws {
        try await AnalyticsApp.run { app async throws in
            let space = try await app.space
            let days = [1, 3]
            try await app.database.withSuperuser { database in
                for day in days {
                    try await database.execute(
                        "SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date - \(day)::integer)")
                    try await database.execute(
                        """
                        INSERT INTO analytics.events SELECT now() - \(day) * interval '1 day', now() - \(day) * interval '1 day', 1, \(Int(Person.key(ofMessage: "d\(day)", in: space))),
                            \(space.id), 0, 0, 0, 0, 0, 0, 0, 1, '{}'
                        """)
                }
            }
            let now = Date()
            try await app.batch(
                track("a", id: "d1", at: now - 86_400), track("a", id: "d3", at: now - 3 * 86_400),
                track("new", id: "d9", at: now - 3 * 86_400), track("b", id: "d1"),
                sentAt: now)
            #expect(try await app.events().compactMap(\.name) == ["new"])
        }
    }

    @Test func `the client's clock is corrected by the time of sending`() async throws {
        try await AnalyticsApp.run { app async throws in
            let wrong = EventTime.date("2001-02-03T04:05:06Z")!
            let before = Date()
            try await app.batch(
                track("hour ago", at: wrong - 3_600), track("now", at: wrong), track("no time"), sentAt: wrong)
            let after = Date()
            let events = try await app.events()
            for (event, ago) in zip(events, [3_600.0, 0, 0]) {
                #expect(
                    event.at >= before - ago - 0.01 && event.at <= after - ago + 0.01 && event.at <= event.received,
                    "\(event)")
            }
            #expect(events.count == 3)
        }
    }

    @Test func `impossible times are refused, and times slightly ahead count as now`() async throws {
        try await AnalyticsApp.run { app async throws in
            let now = Date()
            let answer = try await app.batch(
                track("too old", at: now - 31 * 86_400), track("old", at: now - 29 * 86_400),
                track("ahead", at: now + 3_600),
                track("far ahead", at: now + 90_000))
            #expect(
                answer["accepted"] == "2" && answer["rejected.0.field"] == #""timestamp""#
                    && answer["rejected.1.index"] == "3", "\(answer)")
            let events = try await app.events()
            #expect(
                events.map(\.name) == ["old", "ahead"] && events[1].at <= events[1].received && events[1].at >= now - 1)
        }
    }

    @Test(arguments: ["gzip", "deflate"])
    func `bodies may be compressed`(_ coding: String) async throws {
        try await AnalyticsApp.run { app async throws in
            let body = Array(#"{"batch":[\#((0..<50).map { track("e\($0)") }.joined(separator: ","))]}"#.utf8)
            let gzip = try #require(Gzip.compress(body))
            // Between gzip's header of 10 bytes and its trailer of 8 is raw DEFLATE.
            let packed = coding == "gzip" ? gzip : Array(gzip[10..<(gzip.count - 8)])
            #expect(try await app.send(packed, headers: ["Content-Encoding": coding])["accepted"] == "50")
            #expect(try await app.count("analytics.events") == 50)
        }
    }

    @Test func `an invalid batch is refused as a whole, and nothing is stored`() async throws {
        try await AnalyticsApp.run { app async throws in
            func post(_ body: String) async throws -> Answer { try await app.ingest("POST", "/segment/v1/batch", body) }
            #expect(try await post("{").isProblem(.invalidJSON))
            #expect(try await post("[]").isProblem(.invalidBody))
            #expect(try await post("{}").isProblem(.invalidBody, field: "batch"))
            #expect(try await post(#"{"batch":{}}"#).isProblem(.invalidBody, field: "batch"))
            #expect(try await post(#"{"batch":[\#(track("a"))"#).isProblem(.invalidJSON))
            #expect(try await post(#"{"batch":[\#(track("a")),{"a":1e999999}]}"#).isProblem(.limitExceeded))
            let many = String(repeating: #"{"event":"e","type":"track"},"#, count: 4_000) + track("a")
            #expect(try await post(#"{"batch":[\#(many)]}"#).isProblem(.limitExceeded, field: "batch"))
            #expect(try await post(String(repeating: " ", count: 1 << 20) + "{}").isProblem(.payloadTooLarge))
            let bomb = try #require(Gzip.compress([UInt8](repeating: UInt8(ascii: " "), count: 20 << 20)))
            #expect(try await app.send(bomb, headers: ["Content-Encoding": "gzip"]).isProblem(.payloadTooLarge))
            #expect(try await app.send(Array("{}".utf8), headers: ["Content-Encoding": "gzip"]).isProblem(.invalidBody))
            #expect(
                try await app.send(Array("{}".utf8), headers: ["Content-Encoding": "lzma"]).isProblem(
                    .unsupportedMediaType, field: "Content-Encoding"))
            #expect(try await post(#"{"batch":[]}"#).text == #"{"accepted":0,"success":true}"#)
            for kind in [Principal.Kind.client, .master, .evaluation, .staff, .visitor] {
                let other = app.gateway.acting(as: app.principal(kind))
                #expect(try await other.post("/segment/v1/batch", #"{"batch":[\#(track("a"))]}"#).status == 403)
            }
            #expect(try await app.count("analytics.events") == 0)
            #expect(try await app.count("analytics.terms") == 0)
        }
    }

    @Test func `a character that was cut in half does not fail the batch`() async throws {
        try await AnalyticsApp.run { app async throws in
            let answer = try await app.batch(
                track("a"), track("b", #","properties":{"text":"x\ud83d","nul":"\u0000"}"#))
            #expect(answer["accepted"] == "2")
            #expect(
                try await app.events().map(\.properties) == ["{}", "{\"nul\": \"\u{fffd}\", \"text\": \"x\u{fffd}\"}"])
        }
    }

    static let single: [(String, String, Int)] = [
        ("track", #"{"event":"a","userId":"u"}"#, 1), ("screen", #"{"name":"Home","userId":"u"}"#, 2),
        ("page", #"{"userId":"u"}"#, 3),
        ("identify", #"{"userId":7,"traits":{"a":1}}"#, 4), ("group", #"{"userId":"u","groupId":"g"}"#, 5),
        ("alias", #"{"userId":"u","previousId":"p"}"#, 6),
    ]

    @Test(arguments: single)
    func `a single message may be sent, of the kind in its path`(_ path: String, _ message: String, _ kind: Int)
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            let answer = try await app.ingest("POST", "/segment/v1/\(path)", message)
            #expect(answer.status == 200 && answer.text == #"{"accepted":1,"success":true}"#, "\(answer)")
            #expect(try await app.events().map(\.kind) == [kind])
            #expect(
                try await app.ingest("POST", "/segment/v1/\(path)", #"{"timestamp":"never","userId":"u"}"#).isProblem(
                    .invalidBody, field: "timestamp"))
            #expect(try await app.ingest("POST", "/segment/v1/\(path)", "[").isProblem(.invalidJSON))
            #expect(try await app.count("analytics.events") == 1)
        }
    }

    @Test func `mobile clients get the project settings they ask for at start`() async throws {
        try await AnalyticsApp.run { app async throws in
            let settings = try await app.ingest("GET", "/segment/v1/settings/mi_live_key")
            #expect(
                settings.status == 200
                    && settings.json?["integrations"]?["Segment.io"]?["apiKey"] == .string("mi_live_key"), "\(settings)"
            )
            #expect(settings["plan"] != nil && settings["edgeFunction"] == "{}")
            #expect(try await app.client("GET", "/segment/v1/settings/mi_live_key").isProblem(.forbidden))
            #expect(try await app.ingest("POST", "/segment/v1/b", #"{"batch":[\#(track("a"))]}"#)["accepted"] == "1")
        }
    }
}

struct Missing: Error {}
