import Foundation
import MartletCore
import MartletSentry
import Testing

@Suite struct EnvelopeTests {
    static let header =
        #"{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","dsn":"https://k@example.com/42","sent_at":"2026-11-22T09:00:00.123456Z"}"#

    @Test(
        arguments: [
            // The protocol's own example with a binary attachment and an event.
            (
                header
                    + "\n{\"type\":\"attachment\",\"length\":10,\"content_type\":\"text/plain\",\"filename\":\"hello.txt\"}\n\u{feff}Hello\r\n\n{\"type\":\"event\",\"length\":41}\n{\"message\":\"hello world\",\"level\":\"error\"}\n",
                ["attachment 10", "event 41"]
            ),
            (header + "\n{\"type\":\"event\"}\n{\"message\":\"x\"}", ["event 15"]),
            (
                header + "\n{\"type\":\"event\"}\n{\"message\":\"x\"}\n{\"type\":\"session\"}\n{}\n\n\n",
                ["event 15", "session 2"]
            ),
            (
                header + "\n{\"type\":\"attachment\",\"length\":0}\n\n{\"type\":\"attachment\",\"length\":0}\n",
                ["attachment 0", "attachment 0"]
            ),
            (header, []), ("{}\n", []), ("{}", []),
            (
                "{}\r\n{\"type\":\"event\",\"length\":2}\r\n{}\r\n{\"type\":\"attachment\",\"length\":2}\r\n\r\n\r\n",
                ["event 2", "attachment 2"]
            ),
            ("{}\n{\"type\":\"nobody_knows\",\"length\":3}\n\n\n\n", ["nobody_knows 3"]),
        ] as [(String, [String])])
    func `Envelopes are read as the protocol says`(_ text: String, _ items: [String]) throws {
        let envelope = try Envelope(parsing: Array(text.utf8))
        #expect(envelope.items.map { "\($0.type) \($0.payload.count)" } == items)
        #expect(
            try Envelope(parsing: envelope.bytes).items.map(\.payload) == envelope.items.map(\.payload),
            "written and read again")
    }

    @Test(
        arguments: [
            ("", EnvelopeError.missingHeader), ("not json\n", .invalidHeader("header")),
            ("[]\n", .invalidHeader("header")), ("{\n", .invalidHeader("header")),
            ("{}\n{\"length\":1}\nx", .missingType(item: 1)),
            ("{}\n{\"type\":\"event\",\"length\":5}\n{}", .unexpectedEnd(item: 1)),
            ("{}\n{\"type\":\"event\",\"length\":-1}\n{}", .unexpectedEnd(item: 1)),
            ("{}\n{\"type\":\"event\",\"length\":2}\n{}x", .missingNewline(item: 1)),
            ("{}\nnonsense\n", .invalidHeader("header of item 1")),
            ("{\"x\":\"\(String(repeating: "a", count: 9_000))\"}\n", .headerTooLong("header")),
            (
                "{}\n" + String(repeating: "{\"type\":\"x\",\"length\":0}\n\n", count: 1_001),
                .tooMany("items", limit: 1_000)
            ),
        ] as [(String, EnvelopeError)])
    func `An invalid envelope is refused with a reason`(_ text: String, _ error: EnvelopeError) {
        #expect(throws: error) { try Envelope(parsing: Array(text.utf8)) }
    }

    @Test func `The header says who sent the envelope and when`() throws {
        let envelope = try Envelope(parsing: Array((Self.header + "\n").utf8))
        #expect(envelope.eventID?.eventID == "9ec79c33ec9942ab8353589fcb2e04dc")
        #expect(envelope.sentAt?.timeIntervalSince1970.rounded() == 1_795_338_000)
    }

    @Test(
        arguments: [
            ("event", DataCategory.error), ("transaction", .transaction), ("sessions", .session), ("log", .logItem),
            ("replay_video", .replay), ("check_in", .monitor),
            ("feedback", .feedback), ("statsd", .metricBucket), ("something", .default), ("client_report", nil),
        ] as [(String, DataCategory?)])
    func `Each item type belongs to a category`(_ type: String, _ category: DataCategory?) {
        #expect(DataCategory(itemType: type) == category)
    }

    @Test func `Rate limits are written as clients read them`() {
        #expect(
            RateLimit(seconds: 60, categories: [.error, .default], reason: "quota").text == "60:error;default:key:quota"
        )
        #expect(RateLimit(seconds: 5, categories: [], reason: "full").text == "5::key:full")
    }

    @Test(arguments: [
        (#"{"a":NaN,"b":[Infinity,-Infinity,1]}"#, #"{"a":null,"b":[null,null,1]}"#),
        (
            #"{"a":"x\u0000y","b":"\ud800","c":"\ud83d\ude00"}"#,
            "{\"a\":\"x\u{fffd}y\",\"b\":\"\u{fffd}\",\"c\":\"\u{1f600}\"}"
        ),
        (#"{"a":"\q"}"#, #"{"a":"\\q"}"#), ("{\"a\":\"line\nend\"}", #"{"a":"line\u000aend"}"#),
        ("{\"a\":1e999,\"b\":-12.50}", #"{"a":null,"b":-12.50}"#),
        ("{\"a\":1e-500,\"b\":01,\"c\":+1,\"d\":-0}", #"{"a":null,"b":null,"c":null,"d":-0}"#),
        (
            String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
            String(repeating: "[", count: 31) + "null" + String(repeating: "]", count: 31)
        ),
    ])
    func `JSON that is almost valid is understood`(_ text: String, _ expected: String) throws {
        #expect(try LooseJSON.value(Array(text.utf8)).text == expected)
    }

    @Test func `Invalid UTF-8 is replaced, and the rest of the report is read`() throws {
        #expect(
            try LooseJSON.value(Array("{\"a\":\"".utf8) + [0xff, 0xfe] + Array("\"}".utf8))["a"]?.looseText?.contains(
                "\u{fffd}") == true)
    }

    @Test(arguments: ["", "{", "{\"a\":}", "nothing", "{\"a\":\"", "[1,]"])
    func `Anything else that is not JSON is refused`(_ text: String) {
        #expect(throws: JSONError.self) { try LooseJSON.value(Array(text.utf8)) }
    }
}
