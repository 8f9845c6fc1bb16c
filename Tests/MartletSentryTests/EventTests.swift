import Foundation
import MartletCore
import MartletSentry
import Testing

@Suite struct EventTests {
    private func event(_ text: String) throws -> Event { try #require(Event(try .parse(text), id: nil)) }

    @Test(arguments: [
        #"[{"type":"E","value":"v"}]"#, #"{"values":[{"type":"E","value":"v"},null]}"#, #"{"type":"E","value":"v"}"#,
    ])
    func `Exceptions may be a list, an object with values, or a single one`(_ exception: String) throws {
        let event = try event(#"{"exception":\#(exception)}"#)
        #expect(event.exceptions.map(\.type) == ["E"] && event.exceptions.map(\.value) == ["v"] && event.problems == [])
        #expect(event.content["exception"]?.text == #"{"values":[{"type":"E","value":"v"}]}"#)
    }

    @Test(arguments: [
        #"{"a":"1","b":2,"c":true,"d":null,"e":{}}"#, #"[["a","1"],["b",2],["c",true],["d",null]]"#,
        #"[{"key":"a","value":"1"},{"key":"b","value":2},{"key":"c","value":true}]"#,
    ])
    func `Tags may be an object or pairs`(_ tags: String) throws {
        #expect(try event(#"{"tags":\#(tags)}"#).content["tags"]?.text == #"{"a":"1","b":"2","c":"true"}"#)
    }

    @Test(
        arguments: [
            ("1795338000", 1_795_338_000), ("1795338000.25", 1_795_338_000.25), (#""1795338000.25""#, 1_795_338_000.25),
            (#""2026-11-22T09:00:00Z""#, 1_795_338_000),
            (#""2026-11-22T09:00:00.250000Z""#, 1_795_338_000.25), (#""2026-11-22T09:00:00.25""#, 1_795_338_000.25),
            (#""2026-11-22 10:00:00+01:00""#, 1_795_338_000),
            ("1795338000000", 1_795_338_000), (#""yesterday""#, nil), ("{}", nil), ("-5", nil), ("1e300", nil),
        ] as [(String, Double?)])
    func `Times may be seconds or text`(_ timestamp: String, _ expected: Double?) throws {
        let event = try event(#"{"timestamp":\#(timestamp)}"#)
        #expect(event.timestamp?.timeIntervalSince1970 == expected)
        #expect(event.problems.isEmpty == (expected != nil))
    }

    @Test(arguments: [
        (#"{"logentry":{"message":"hello %s","params":["you"]}}"#, "hello you"),
        (#"{"logentry":{"formatted":"hi","message":"h%s"}}"#, "hi"),
        (#"{"logentry":{"message":"%s of {}: %5.2f, %s","params":["a %s",2,true]}}"#, "a %s of 2: true, %s"),
        (#"{"logentry":{"message":"100 %","params":[1]}}"#, "100 %"),
        (#"{"message":"plain"}"#, "plain"), (#"{"message":{"formatted":"older"}}"#, "older"),
        (#"{"logentry":"text"}"#, "text"), ("{}", ""),
    ])
    func `Parameters of messages are filled in`(_ text: String, _ message: String) throws {
        #expect(try event(text).message == message)
    }

    @Test(arguments: [
        (#"{"level":"loud"}"#, "level is not one of debug, info, warning, error and fatal"),
        (#"{"platform":{}}"#, "platform is not text"),
        (#"{"exception":"oops"}"#, "exception is neither a list nor an object"),
        (#"{"exception":["oops"]}"#, "exception[0] is not an object"),
        (#"{"exception":[{"type":{},"value":"v"}]}"#, "exception[0].type is not text"),
        (#"{"exception":[{"type":"t","stacktrace":[]}]}"#, "exception[0].stacktrace is not an object"),
        (#"{"user":"me"}"#, "user is not an object"), (#"{"contexts":[]}"#, "contexts is not an object"),
        (#"{"tags":5}"#, "tags is neither an object nor a list of pairs"),
        (#"{"fingerprint":"f"}"#, "fingerprint is not a list"),
        (#"{"logentry":[1]}"#, "logentry is neither text nor an object"),
    ])
    func `Malformed members are reported, and the others are read`(_ text: String, _ problem: String) throws {
        let event = try event(text.dropLast() + #","release":"1.0"}"#)
        #expect(event.problems == [problem])
        #expect(event.release == "1.0")
    }

    @Test func `No address, password or cookie is stored`() throws {
        let event = try event(
            #"""
            {"user":{"id":"7","ip_address":"{{auto}}","email":"a@b.c","geo":{"city":"X"}},"extra":{"password":"p1","nested":{"apiToken":"p2","count_token":3}},
             "request":{"url":"https://x","cookies":"p3","env":{"REMOTE_ADDR":"10.1.2.3"},"headers":{"Authorization":"p4","X-Forwarded-For":"10.1.2.3","Accept":"a"}},
             "breadcrumbs":[{"data":{"secret":"p5","url":"u"}}],"exception":[{"type":"E","stacktrace":{"frames":[{"function":"f","vars":{"passwd":"p6","x":"1"}}]}}]}
            """#)
        let text = event.content.text
        for secret in ["p1", "p2", "p3", "p4", "p5", "p6", "10.1.2.3", "{{auto}}", "city"] {
            #expect(!text.contains(secret), "\(secret)")
        }
        for kept in [#""id":"7""#, "a@b.c", "count_token", "Accept", #""x":"1""#] {
            #expect(text.contains(kept), "\(kept)")
        }
        #expect(event.person == "7")
    }

    @Test(arguments: [
        "X-Real-IP", "CF-Connecting-IP", "True-Client-IP", "x-client-ip", "Fastly-Client-IP",
        "X-Original-Forwarded-For", "Forwarded",
    ])
    func `No header that reveals a person's location is stored`(_ name: String) throws {
        for headers in [#"{"\#(name)":"10.1.2.3","Accept":"a"}"#, #"[["\#(name)","10.1.2.3"],["Accept","a"]]"#] {
            let text = try event(#"{"request":{"headers":\#(headers)}}"#).content.text
            #expect(!text.contains("10.1.2.3") && text.contains("Accept"))
        }
    }

    @Test func `Secrets in URLs are not stored`() throws {
        let text = try event(
            #"""
            {"request":{"url":"https://x/tokens?id=5&Access_Token=p1&a","query_string":"id=6&api_key=p2&password=p3","data":"k"},
             "breadcrumbs":[{"category":"http","data":{"url":"https://x/?secret=p4#id=7&access_token=p6","http.query":"token=p5","status_code":200}}]}
            """#
        ).content.text
        for secret in ["p1", "p2", "p3", "p4", "p5", "p6"] { #expect(!text.contains(secret), "\(secret)") }
        for kept in [
            "https://x/tokens?id=5&Access_Token=[Filtered]&a", "id=6&api_key=[Filtered]",
            "https://x/?secret=[Filtered]#id=7&access_token=[Filtered]", "200", "\"k\"",
        ] { #expect(text.contains(kept), "\(kept)") }
    }

    /// Each of these once took more than proportional time, because a long text was searched again and again. They have
    /// nearly the maximum number of values (`JSONLimits`).
    @Test func `A report designed to be slow is read like any other`() throws {
        let many = 19_000
        func list(_ count: Int, _ element: (Int) -> String) -> String {
            "[" + (0..<count).map(element).joined(separator: ",") + "]"
        }
        let parameters = try event(
            #"{"logentry":{"message":"\#(String(repeating: "%s", count: many))","params":\#(list(many) { _ in "1" })}}"#
        )
        #expect(parameters.message.hasPrefix("1111") && parameters.message.utf8.count <= 8_000)
        let threads = try event(
            #"{"exception":\#(list(many / 2) { #"{"thread_id":\#($0),"type":"E\#($0)"}"# }),"threads":\#(list(many / 2) { #"{"id":\#(-$0)}"# })}"#
        )
        #expect(
            threads.exceptions.count == 50 && threads.exceptions.last?.type == "E\(many / 2 - 1)"
                && Grouping(threads).title == "E\(many / 2 - 1)")
        #expect(threads.content["exception"]?["values"]?.looseList.last?["type"]?.looseText == "E\(many / 2 - 1)")
        let frames = try event(
            #"{"exception":{"type":"E","stacktrace":{"frames":\#(list(many) { #"{"function":"f\#($0)"}"# })}}}"#)
        #expect(
            frames.exceptions[0].frames.count == 1_000 && frames.exceptions[0].frames.last?.function == "f\(many - 1)")
        let images = try event(
            #"{"exception":{"type":"E","stacktrace":{"frames":\#(list(many) { #"{"instruction_addr":\#($0)}"# })}},"debug_meta":{"images":\#(list(many) { _ in #"{"image_addr":"0xffffff","image_size":1}"# })}}"#
        )
        #expect(Grouping(images).isByPlace)
    }

    @Test func `Stored values have limits`() throws {
        let long = String(repeating: "x", count: 20_000)
        let frames = (0..<600).map { #"{"function":"f\#($0)"}"# }.joined(separator: ",")
        let deep = String(repeating: #"{"a":"#, count: 25) + "1" + String(repeating: "}", count: 25)
        let event = try event(
            #"{"message":"\#(long)","extra":{"long":"\#(long)","deep":\#(deep)},"exception":{"type":"E","stacktrace":{"frames":[\#(frames)]}},"breadcrumbs":[\#(Array(repeating: "{}", count: 300).joined(separator: ","))]}"#
        )
        #expect(event.message.utf8.count == 8_000)
        #expect(event.content["extra"]?["long"]?.looseText?.utf8.count == 8_192)
        #expect(event.content["breadcrumbs"]?["values"]?.looseList.count == 100)
        let kept =
            event.content["exception"]?["values"]?.looseList.first?["stacktrace"]?["frames"]?.looseList.compactMap {
                $0["function"]?.looseText
            } ?? []
        #expect(kept.count == 250 && kept.first == "f0" && kept.last == "f599")
        #expect(event.content.text.contains("…"))
    }

    @Test(arguments: [
        (#"{"tags":{"martlet.config":"12","martlet.variants":"checkout=dark"}}"#, "12", "checkout=dark"),
        (
            #"{"contexts":{"martlet":{"configuration":"13","variants":{"size":"b","checkout":"dark"}}}}"#, "13",
            "checkout=dark, size=b"
        ),
        (#"{"contexts":{"martlet":{"configuration":14}}}"#, "14", ""), ("{}", "", ""),
    ])
    func `Configuration and variations are read from the report`(
        _ text: String, _ configuration: String, _ variants: String
    ) throws {
        let event = try event(text)
        #expect(event.configuration == configuration && event.variants == variants)
    }

    @Test(.enabled(if: Fixtures.exist), arguments: Fixtures.all)
    func `Crashes of iOS apps are read without errors`(_ name: String) throws {
        let event = try Fixtures.event(name)
        #expect(
            event.problems == [] && event.platform == "cocoa" && event.isCrash && event.severity == .fatal
                && event.exceptions.count == 1)
        #expect(event.timestamp != nil)
        #expect(
            Event(event.content, id: event.id).map { Grouping($0) } == Grouping(event),
            "what is kept reads as what came")
    }

    @Test(.enabled(if: Fixtures.exist)) func `KSCrash's own reports have the cause and the place`() throws {
        let exception = try Fixtures.event(Fixtures.exception)
        #expect(exception.exceptions[0].type == "NSInvalidArgumentException")
        #expect(
            exception.exceptions[0].frames.last?.function == "__exceptionPreprocess"
                && exception.exceptions[0].frames.first?.function == "start")
        #expect(Grouping(exception).culprit == "-[Crasher throwException]")
        let bad = try Fixtures.event(Fixtures.badAccess)
        #expect(
            bad.exceptions[0].type == "EXC_BAD_ACCESS" && bad.release == "io.sentry.sample.iOS-Swift@7.31.5+1"
                && bad.os == "iOS 16.2" && bad.device == "iPhone11,8")
        #expect(bad.person == "1" && bad.stage == "debug")
    }

    @Test func `Exceptions in the original TBAnalytics format become events`() throws {
        let uncaught = try #require(
            Event(
                TBAnalyticsException(
                    try .parse(
                        #"""
                        {"level":"Fatal","name":"NSRangeException","reason":"index 5 beyond bounds [0 .. 4]","userInfo":{"a":1},"configVersion":"3","buildVersion":"1.2","osVersion":"10.2",
                         "deviceModel":"iPhone8,1","tags":{"lang":"en"},"timeStamp":"2017-03-05T20:21:39Z","stackReturnAddress":[1,2],
                         "stackSymbols":["0   CoreFoundation   0x0000000185a8b1d8 <redacted> + 148","1   DITTimetable   0x0000000100088000 _TFC12DITTimetable4open + 36"]}
                        """#)
                ).event, id: nil))
        #expect(
            uncaught.isCrash && uncaught.severity == .fatal && uncaught.release == "1.2"
                && uncaught.configuration == "3" && uncaught.device == "iPhone8,1")
        #expect(
            uncaught.exceptions[0].frames.map(\.function) == ["_TFC12DITTimetable4open", "<redacted>"]
                && uncaught.exceptions[0].frames.map(\.isInApp) == [true, false])
        let caught = try #require(
            Event(
                TBAnalyticsException(
                    try .parse(
                        #"{"level":"Warning","message":"Caught Exception","method":"load()","file":"View.swift","line":12}"#
                    )
                ).event, id: nil))
        #expect(
            !caught.isCrash && caught.severity == .warning && caught.message == "Caught Exception"
                && caught.problems == [])
        #expect(Grouping(caught).culprit == "load() in View.swift")
    }

    @Test(
        arguments: [
            ("com.example.app@1.4.2+57", "1.4.2", "57", true), ("1.4.2", "1.4.2", "", true),
            ("app@feature-x", "feature-x", "", false), ("9f2c1ab", "9f2c1ab", "", false),
        ] as [(String, String, String, Bool)])
    func `Releases have a version and a build`(_ name: String, _ version: String, _ build: String, _ isOrdered: Bool) {
        let release = ReleaseName(name)
        #expect(release.version == version && release.build == build && (release.sortKey != nil) == isOrdered)
    }

    @Test func `Releases sort by version, then build`() {
        let sorted = ["a@1.0.0-beta", "a@1.0.0-beta.2", "a@1.0.0", "a@1.0.0+9", "a@1.0.0+10", "a@1.2.0", "a@1.10.0+1"]
        #expect(
            sorted.shuffled().sorted {
                (ReleaseName($0).sortKey ?? "").utf8.lexicographicallyPrecedes((ReleaseName($1).sortKey ?? "").utf8)
            } == sorted)
    }
}
