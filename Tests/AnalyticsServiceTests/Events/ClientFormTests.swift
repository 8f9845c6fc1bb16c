import Foundation
import HTTPTypes
import MartletAPI
import MartletCompression
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsService
@testable import AnalyticsShared

/// Requests of clients that cannot be run here, byte by byte as their sources write them (analytics-swift,
/// analytics-kotlin, analytics_flutter and analytics-next, which contains analytics.js and analytics-node, in 2026).
@Suite struct ClientFormTests {
    struct Form: Sendable, CustomTestStringConvertible {
        var client: String
        var path = "b"
        var headers: [String: String]
        var isPacked = false
        var body: String
        /// The fields of the single stored event.
        var kind = 1
        var name: String? = "Bought"
        var person: @Sendable (Space) -> Int64
        var release: String?
        var os: String?
        var device: String?
        var country: String?

        var testDescription: String { client }
    }

    private static let now = Date().ISO8601Format(.init(includingFractionalSeconds: true))
    private static let device: @Sendable (Space) -> Int64 = { Person.device("d1", in: $0) }
    private static let account: @Sendable (Space) -> Int64 = { Person.account("u1", in: $0) }

    /// A mobile client has its key in the body and sends no Authorization header. It therefore uses
    /// `/segment/v1/projects/{ingestKey}/b`.
    static let forms = [
        Form(
            client: "analytics-swift",
            headers: ["Content-Type": "application/json; charset=utf-8", "User-Agent": "analytics-ios/1.9.1"],
            body:
                #"{ "batch": [{"anonymousId":"d1","context":{"app":{"build":"45","name":"Shop","namespace":"org.example","version":"1.2.3"},"device":{"id":"5A1","manufacturer":"Apple","model":"iPhone15,2","name":"iPhone","type":"ios"},"instanceId":"9","library":{"name":"analytics-swift","version":"1.9.1"},"locale":"de-CH","network":{"bluetooth":false,"cellular":false,"wifi":true},"os":{"name":"iOS","version":"19.1"},"screen":{"height":2556,"width":1179},"timezone":"Europe/Zurich","userAgent":"Mozilla/5.0"},"event":"Bought","integrations":{},"messageId":"m1","properties":{"price":4.9},"timestamp":"\#(now)","type":"track","_metadata":{"bundled":[],"unbundled":[],"bundledIds":[]}}],"sentAt":"\#(now)","writeKey":"mi_live_key"}"#,
            person: device, release: "1.2.3+45", os: "iOS 19.1", device: "Apple iPhone15,2", country: "CH"),
        Form(
            client: "analytics-kotlin",
            headers: ["Content-Type": "text/plain", "User-Agent": "analytics-kotlin/1.23.0"], isPacked: true,
            body:
                #"{"batch":[{"properties":{"price":4.9},"event":"Bought","type":"track","messageId":"m1","anonymousId":"d1","integrations":{},"context":{"instanceId":"9","library":{"name":"analytics-kotlin","version":"1.23.0"},"app":{"name":"Shop","version":"1.2.3","namespace":"org.example","build":"45"},"device":{"id":"5A1","manufacturer":"Google","model":"Pixel 9","name":"caiman","type":"android"},"os":{"name":"Android","version":"16"},"screen":{"density":2.6,"height":2424,"width":1080},"network":{"wifi":true},"locale":"en-IE","userAgent":"Dalvik","timezone":"Europe/Dublin"},"userId":"","_metadata":{"bundled":[],"unbundled":[],"bundledIds":[]},"timestamp":"\#(now)"}],"sentAt":"\#(now)","writeKey":"mi_live_key"}"#,
            person: device, release: "1.2.3+45", os: "Android 16", device: "Google Pixel 9", country: "IE"),
        Form(
            client: "analytics_flutter",
            headers: ["Content-Type": "application/json; charset=utf-8", "User-Agent": "analytics-flutter/1.1.7"],
            body:
                #"{"batch":[{"event":"Bought","properties":{"price":4.9},"type":"track","anonymousId":"d1","messageId":"m1","userId":null,"timestamp":"\#(now.dropLast())000Z","context":{"app":{"name":"Shop","version":"1.2.3","namespace":"org.example","build":"45"},"device":{"manufacturer":"Apple","model":"iPhone","name":"iPhone","type":"ios","adTrackingEnabled":null},"library":{"name":"analytics_flutter","version":"1.1.7"},"locale":"de_CH","network":{"cellular":false,"wifi":true},"os":{"name":"iOS","version":"19.1"},"screen":{"height":874,"width":402},"timezone":"CET"},"integrations":{}}],"sentAt":"\#(now.dropLast())123Z","writeKey":"mi_live_key"}"#,
            person: device, release: "1.2.3+45", os: "iOS 19.1", device: "Apple iPhone", country: "CH"),
        Form(
            client: "analytics.js, one by one", path: "p",
            headers: ["Content-Type": "text/plain", "Origin": "https://shop.example"],
            body:
                #"{"timestamp":"\#(now)","integrations":{},"anonymousId":"d1","type":"page","category":null,"name":null,"properties":{"path":"/start","referrer":"","search":"","title":"Shop","url":"https://shop.example/start"},"context":{"page":{"path":"/start"},"userAgent":"Mozilla/5.0","userAgentData":{"brands":[{"brand":"Chromium","version":"142"}],"mobile":false,"platform":"macOS"},"locale":"en-US","library":{"name":"analytics.js","version":"npm:next-1.82.0"},"timezone":"Europe/Dublin"},"messageId":"ajs-next-1","writeKey":"mi_live_key","userId":null,"sentAt":"\#(now)","_metadata":{"bundled":["Segment.io"],"unbundled":[],"bundledIds":[]}}"#,
            kind: 3, name: "/start", person: device, os: "macOS", country: "US"),
        Form(
            client: "analytics.js, batching",
            headers: ["Content-Type": "text/plain", "Origin": "https://shop.example"],
            body:
                #"{"writeKey":"mi_live_key","batch":[{"timestamp":"\#(now)","integrations":{"All":true},"userId":"u1","anonymousId":"d1","event":"Bought","type":"track","properties":{"price":4.9},"context":{"locale":"en-US"},"messageId":"ajs-next-1","writeKey":"mi_live_key"}],"sentAt":"\#(now)"}"#,
            person: account, country: "US"),
        Form(
            client: "analytics-node", path: "batch",
            headers: ["Content-Type": "application/json", "User-Agent": "analytics-node-next/latest"],
            body:
                #"{"batch":[{"userId":"u1","event":"Bought","type":"track","properties":{"price":4.9},"context":{"library":{"name":"@segment/analytics-node","version":"2.3.0"}},"timestamp":"\#(now)","messageId":"node-next-1","integrations":{},"_metadata":{"nodeVersion":"20.20.2","jsRuntime":"node"}}],"writeKey":"mi_live_key","sentAt":"\#(now)"}"#,
            person: account),
    ]

    @Test(arguments: forms)
    func `everything recognized in a client's message is stored`(_ form: Form) async throws {
        try await AnalyticsApp.run { app async throws in
            let bytes = form.isPacked ? try #require(Gzip.compress(Array(form.body.utf8))) : Array(form.body.utf8)
            let headers = form.headers.merging(form.isPacked ? ["Content-Encoding": "gzip"] : [:]) { $1 }
            for _ in 0..<2 {
                // The second time is a retry after a lost answer.
                let answer = try await app.gateway.acting(as: app.principal(.ingest)).send(
                    "POST", "/segment/v1/" + form.path, bytes: bytes, headers: headers)
                #expect(answer.status == 200 && answer.text == #"{"accepted":1,"success":true}"#, "\(answer)")
            }
            let events = try await app.events()
            try #require(events.count == 1)
            let person = form.person(try await app.space)
            #expect(events[0].kind == form.kind && events[0].name == form.name && events[0].person == person)
            #expect(
                events[0].release == form.release && events[0].os == form.os && events[0].device == form.device
                    && events[0].country == form.country)
            #expect(!events[0].properties.contains("writeKey"))
        }
    }

    static let letters: [(String, String, Int)] = [
        ("i", #"{"type":"identify","userId":"u1","traits":{}}"#, 4),
        ("t", #"{"type":"track","userId":"u1","event":"a"}"#, 1),
        ("s", #"{"type":"screen","userId":"u1","name":"Home"}"#, 2), ("p", #"{"type":"page","userId":"u1"}"#, 3),
        ("g", #"{"type":"group","userId":"u1","groupId":"g1"}"#, 5),
        ("a", #"{"type":"alias","userId":"u1","previousId":"d1"}"#, 6),
    ]

    @Test(arguments: letters)
    func `the paths for browsers have a single letter`(_ path: String, _ message: String, _ kind: Int) async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.ingest("POST", "/segment/v1/" + path, message)["accepted"] == "1")
            #expect(try await app.events().map(\.kind) == [kind])
            #expect(try await app.client("POST", "/segment/v1/" + path, message).isProblem(.forbidden))
        }
    }

    static let users: [(String, String?)] = [
        ("null", nil), (#""""#, nil), ("7", "7"), (#""7""#, "7"), ("12345678901234567890", "12345678901234567890"),
        (#""ü""#, "ü"),
    ]

    @Test(arguments: users)
    func `a user's id may be null, empty or a number`(_ id: String, _ expected: String?) async throws {
        try await AnalyticsApp.run { app async throws in
            let answer = try await app.batch(#"{"type":"track","event":"a","userId":\#(id),"anonymousId":"d1"}"#)
            #expect(answer["accepted"] == "1", "\(answer)")
            let space = try await app.space
            #expect(
                try await app.events().map(\.person) == [
                    expected.map { Person.account($0, in: space) } ?? Person.device("d1", in: space)
                ])
        }
    }

    @Test(arguments: ["true", "{}", "[]", #""\#(String(repeating: "x", count: 513))""#])
    func `an invalid id is refused by its field, and other messages are accepted`(_ id: String) async throws {
        try await AnalyticsApp.run { app async throws in
            let answer = try await app.batch(#"{"type":"track","event":"a","userId":\#(id)}"#, track("b"))
            #expect(
                answer["accepted"] == "1" && answer["rejected.0.index"] == "0"
                    && answer["rejected.0.field"] == #""userId""#, "\(answer)")
            #expect(try await app.events().map(\.name) == ["b"])
        }
    }

    @Test func `a batch may have 500 kB, and single messages beyond 32 KiB are refused`() async throws {
        try await AnalyticsApp.run { app async throws in
            let text = String(repeating: "x", count: 31 << 10)
            let large = (0..<15).map { track("e\($0)", #","properties":{"text":"\#(text)"}"#) }
            let tooLarge = track("no", #","properties":{"text":"\#(text + text)"}"#)
            let answer = try await app.ingest(
                "POST", "/segment/v1/batch", #"{"batch":[\#((large + [tooLarge]).joined(separator: ","))]}"#)
            #expect(
                answer["accepted"] == "15" && answer["rejected.0.index"] == "15"
                    && answer["rejected.0.reason"]?.contains("32768 bytes") == true, "\(answer)")
            #expect(try await app.count("analytics.events") == 15)
        }
    }
}
