import Foundation
import MartletCore
import MartletSentry
import Testing

@Suite struct GroupingTests {
    private func grouping(_ text: String) throws -> Grouping {
        Grouping(try #require(Event(try .parse(text), id: nil)))
    }

    @Test(.enabled(if: Fixtures.exist), arguments: Fixtures.all)
    func `The same crash in another process is the same issue`(_ name: String) throws {
        let first = Grouping(try Fixtures.event(name))
        let second = Grouping(try Fixtures.event(name) { $0.inAnotherProcess(slide: 0x41_4000) })
        #expect(first.appHash == second.appHash && first.systemHash == second.systemHash)
    }

    @Test(.enabled(if: Fixtures.exist), arguments: [Fixtures.abort, Fixtures.exception])
    func `The same crash of another build is the same issue if functions have names`(_ name: String) throws {
        let second = Grouping(try Fixtures.event(name) { $0.inAnotherProcess(slide: 0x8000, moved: 0x1234) })
        #expect(second.appHash == Grouping(try Fixtures.event(name)).appHash)
    }

    @Test(.enabled(if: Fixtures.exist)) func `Symbols merge the issues of two builds`() throws {
        func symbolicated(_ value: JSONValue) -> JSONValue {
            value.mapped { name, value in
                name == "function" && value.looseText == "<redacted>" ? .string("-[CRLCrashROPage crash]") : nil
            }
        }
        let first = Grouping(try Fixtures.event(Fixtures.event, symbolicated))
        let second = Grouping(
            try Fixtures.event(Fixtures.event) { symbolicated($0.inAnotherProcess(slide: 0x4000, moved: 0x10)) })
        #expect(first.appHash == second.appHash)
        let bare = try (
            Fixtures.event(Fixtures.event),
            Fixtures.event(Fixtures.event) { $0.inAnotherProcess(slide: 0x4000, moved: 0x10) }
        )
        #expect(Grouping(bare.0).appHash != Grouping(bare.1).appHash, "without them nobody can know")
    }

    @Test(
        .enabled(if: Fixtures.exist),
        arguments: [(Fixtures.abort, "-[Crasher doAbort]"), (Fixtures.exception, "-[Crasher throwException]")])
    func `A crash in another place is another issue`(_ name: String, _ function: String) throws {
        let other = Grouping(
            try Fixtures.event(name) { $0.mapped { $1.looseText == function ? .string("-[Crasher other]") : nil } })
        #expect(other.appHash != Grouping(try Fixtures.event(name)).appHash)
    }

    @Test(.enabled(if: Fixtures.exist)) func `Crashes of different kinds are different issues`() throws {
        #expect(Set(try Fixtures.all.map { Grouping(try Fixtures.event($0)).appHash }).count == Fixtures.all.count)
    }

    /// A crash of a build: the app's calls, outermost first, each a name or an offset in its image.
    private func native(_ calls: [String], in build: UInt64, isOwn: Bool = true) throws -> Grouping {
        let frames = calls.map { call in
            let (name, offset) = UInt64(call, radix: 16).map { ("<redacted>", $0) } ?? (call, 0x10)
            return
                #"{"function":"\#(name)","package":"/var/containers/Bundle/Application/1/Shop.app/Shop","image_addr":"0x1000","instruction_addr":\#(0x1000 + build + offset),"in_app":\#(isOwn)}"#
        }
        return try grouping(
            #"{"exception":{"type":"EXC_BAD_ACCESS","stacktrace":{"frames":[\#(frames.joined(separator: ","))]}}}"#)
    }

    @Test func `If the innermost call has a name, unnamed calls are the same in every build`() throws {
        let first = try native(["100", "200", "Cart.add"], in: 0)
        #expect(try native(["100", "200", "Cart.add"], in: 0x40).appHash == first.appHash)
        #expect(try native(["100", "200", "Cart.remove"], in: 0).appHash != first.appHash)
        #expect(!first.isByPlace)
    }

    @Test(arguments: ["<redacted>", "_mh_execute_header", "__mh_execute_header", "0x1234"])
    func `Without names, different offsets are different issues, and the grouping is marked as by place`(
        _ name: String
    ) throws {
        func crash(_ offset: UInt64, in build: UInt64) throws -> Grouping {
            let frame =
                #"{"function":"\#(name)","package":"/var/containers/Bundle/Application/1/Shop.app/Shop","image_addr":"0x1000","instruction_addr":\#(0x1000 + build + offset)}"#
            return try grouping(
                #"{"exception":{"type":"EXC_BAD_ACCESS","stacktrace":{"frames":[{"function":"main","package":"/Shop.app/Shop","instruction_addr":1},\#(frame)]}}}"#
            )
        }
        let first = try crash(0x100, in: 0)
        #expect(first.isByPlace)
        #expect(try crash(0x100, in: 0).appHash == first.appHash)
        #expect(try crash(0x200, in: 0).appHash != first.appHash)
        #expect(try crash(0x100, in: 0x40).appHash != first.appHash)
        #expect(
            try !grouping(
                #"{"fingerprint":["mine"],"exception":{"type":"E","stacktrace":{"frames":[{"instruction_addr":1}]}}}"#
            ).isByPlace)
        #expect(try !grouping(#"{"message":"m"}"#).isByPlace)
    }

    @Test func `System calls around the app's own make no difference`() throws {
        func report(_ system: String) -> String {
            #"{"exception":{"type":"E","stacktrace":{"frames":[{"function":"\#(system)","in_app":false,"instruction_addr":"0x1"},{"function":"mine","in_app":true,"instruction_addr":"0x2"}]}}}"#
        }
        let (first, second) = (try grouping(report("old_main")), try grouping(report("new_main")))
        #expect(first.appHash == second.appHash && first.systemHash != second.systemHash)
    }

    @Test(
        arguments: [
            ("[1,2,3]", ["mine|f|a()", "mine|g|b()"], true), ("[4]", ["mine|f|a()", "mine|g|b()"], true),
            ("[5]", ["mine|g|b()", "mine|f|a()"], false),
        ] as [(String, [String], Bool)])
    func `If code shows its source, the file, function and text of the line count, not its number`(
        _ numbers: String, _ calls: [String], _ isSame: Bool
    ) throws {
        func report(_ calls: [String]) -> String {
            let frames = calls.enumerated().map { index, call in
                let parts = call.split(separator: "|")
                return
                    #"{"module":"\#(parts[0])","function":"\#(parts[1])","context_line":"    \#(parts[2])","lineno":\#(index * 7 + numbers.count),"in_app":true}"#
            }
            return
                #"{"platform":"python","exception":[{"type":"E","value":"\#(numbers)","stacktrace":{"frames":[\#(frames.joined(separator: ","))]}}]}"#
        }
        #expect(
            (try grouping(report(calls)).appHash == grouping(report(["mine|f|a()", "mine|g|b()"])).appHash) == isSame)
    }

    @Test func `A recursion is the same at any depth`() throws {
        func report(_ calls: [String]) -> String {
            let frames = calls.map { #"{"function":"\#($0)","instruction_addr":"0x1","in_app":true}"# }.joined(
                separator: ",")
            return #"{"exception":{"type":"EXC_BAD_ACCESS","stacktrace":{"frames":[\#(frames)]}}}"#
        }
        let once = try grouping(report(["main", "walk", "visit", "end"]))
        for depth in [2, 3, 40, 111] {
            #expect(
                try grouping(
                    report(["main"] + Array(repeating: ["walk", "visit"], count: depth).flatMap(\.self) + ["end"])
                ).appHash == once.appHash, "\(depth)")
        }
        #expect(
            try grouping(report(["main", "walk", "walk", "walk", "end"])).appHash
                == grouping(report(["main", "walk", "end"])).appHash)
        #expect(try grouping(report(["main", "visit", "end"])).appHash != once.appHash)
    }

    @Test(arguments: [
        (#"["mine"]"#, #"["mine"]"#, true), (#"["mine"]"#, #"["other"]"#, false), (#"["{{ default }}"]"#, "[]", true),
        (#"["{{ default }}","a"]"#, #"["{{default}}","a"]"#, true),
        (#"["{{ default }}","a"]"#, #"["{{ default }}","b"]"#, false), (#"["{{ default }}","a"]"#, "[]", false),
    ])
    func `The client's fingerprint takes precedence`(_ first: String, _ second: String, _ isSame: Bool) throws {
        func report(_ fingerprint: String) -> String { #"{"fingerprint":\#(fingerprint),"message":"same"}"# }
        #expect((try grouping(report(first)).appHash == grouping(report(second)).appHash) == isSame)
    }

    @Test func `A fingerprint that includes the default keeps different crashes apart`() throws {
        let hashes = try ["one", "two"].map {
            try grouping(#"{"fingerprint":["{{ default }}","tenant"],"message":"\#($0)"}"#).appHash
        }
        #expect(Set(hashes).count == 2)
    }

    @Test(arguments: [
        ("user 17 not found", "user 99 not found", true), ("user 17 not found", "item 17 not found", false),
        ("cannot open '/a/b' after 3.5s", "cannot open '/c' after 12ms", true),
    ])
    func `Without calls the message counts, except for its variable parts`(
        _ first: String, _ second: String, _ isSame: Bool
    ) throws {
        for form in [#"{"message":"%"}"#, #"{"exception":{"type":"E","value":"%"}}"#] {
            #expect(
                (try grouping(form.replacing("%", with: first)).appHash
                    == grouping(form.replacing("%", with: second)).appHash) == isSame)
        }
    }

    @Test func `The message template takes precedence over the filled-in message`() throws {
        #expect(
            try grouping(#"{"logentry":{"message":"hi %s","formatted":"hi Ann"}}"#).appHash
                == grouping(#"{"logentry":{"message":"hi %s","formatted":"hi Bob"}}"#).appHash)
    }

    @Test func `A crash whose calls are on its thread is grouped by them`() throws {
        func report(_ function: String) -> String {
            #"{"exception":[{"type":"SIGSEGV","thread_id":3}],"threads":[{"id":1,"stacktrace":{"frames":[{"function":"other"}]}},{"id":3,"crashed":true,"stacktrace":{"frames":[{"function":"\#(function)","instruction_addr":1}]}}]}"#
        }
        #expect(try grouping(report("a")).appHash != grouping(report("b")).appHash)
        #expect(
            try grouping(report("a")).appHash == grouping(report("a").replacing("other", with: "elsewhere")).appHash)
    }

    @Test func `An empty report still has an issue`() throws {
        #expect(try grouping("{}").title == "Report without a message")
        #expect(
            Grouping(broken: "not valid JSON at byte 7").appHash
                == Grouping(broken: "not valid JSON at byte 99").appHash)
    }

    @Test(arguments: [
        // Swift
        ("specialized Cart.add<A>(_: A, to: Swift.Int) -> ()", "Cart.add"),
        ("closure #1 (Swift.Int) -> () in Shop.Cart.add(_:) throws -> ()", "Shop.Cart.add closure"),
        ("implicit closure #2 () -> () in closure #1 () -> () in Shop.Cart.add(_:)", "Shop.Cart.add closure"),
        ("Shop.(Cart in _3B2A19F0).add(Swift.Array<Swift.Dictionary<Swift.String, Any>>) -> ()", "Shop.Cart.add"),
        ("generic specialization <Swift.Int, Swift.Array<A>> of Shop.run<A>(A) -> ()", "Shop.run"),
        ("partial apply for closure #3 () -> () in Shop.run()", "Shop.run closure"),
        ("@objc Shop.ViewController.tapped(_: __C.UIButton) -> ()", "Shop.ViewController.tapped"),
        ("Shop.Cart.total.getter : Swift.Int", "Shop.Cart.total.getter"),
        ("(extension in Shop):Swift.Array.total() -> Swift.Int", "Swift.Array.total"),
        ("(1) await resume partial function for Shop.load() async throws -> ()", "Shop.load"),
        ("merged Shop.a()", "Shop.a"),
        ("static Shop.Cart.< infix(Shop.Cart, Shop.Cart) -> Swift.Bool", "static Shop.Cart.< infix"),
        ("_$s4Shop4CartC3addyySiFTo", "$s4Shop4CartC3addyySiF"),
        // Objective-C
        ("-[Crasher doAbort]", "-[Crasher doAbort]"), ("+[NSObject(Crash) boom:with:]", "+[NSObject boom:with:]"),
        ("__32-[AppDelegate(UI) crashCommands]_block_invoke375", "-[AppDelegate crashCommands] block"),
        ("__main_block_invoke_2", "main block"),
        // C++ and Rust
        ("void shop::Cart<int, std::vector<int>>::add<long>(long, int) const", "shop::Cart::add"),
        ("void (anonymous namespace)::run(int)", "(anonymous)::run"),
        ("shop::Cart::operator()(int) const", "shop::Cart::operator()"),
        ("bool shop::operator<(A const&, A const&)", "bool shop::operator<"),
        ("shop::cart::add::h0123456789abcdef", "shop::cart::add"),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec as core::ops::Drop>::drop"),
        ("add.cold.1", "add"), ("add.llvm.1234567", "add"), ("add.isra.0.cold.2", "add"),
        ("fault at 0xdeadbeef", "fault at <addr>"),
        // Others
        ("lambda$onCreate$3", "lambda$onCreate$"), ("<module>", "<module>"),
        ("Foo.<locals>.<lambda>", "Foo.<locals>.<lambda>"), ("main", "main"), ("", ""), ("operator", "operator"),
    ])
    func `Function names lose what differs between builds`(_ name: String, _ normalized: String) {
        #expect(FunctionName.normalized(name) == normalized)
        #expect(FunctionName.normalized(name) == normalized, "the cached result is the same")
    }

    @Test(arguments: [
        ("index 5 beyond bounds [0 .. 4]", "index <int> beyond bounds [<int> .. <int>]"),
        (
            "-[__NSArrayI objectForKey:]: unrecognized selector sent to instance 0x1e59bc50",
            "-[__NSArrayI objectForKey:]: unrecognized selector sent to instance <hex>"
        ),
        ("GET https://example.com/a?b=1 failed: 503", "GET <url> failed: <int>"),
        ("mail to ann@example.com bounced", "mail to <email> bounced"),
        ("host 10.0.0.1:8080 and fe80::1 down", "host <ip> and <ip> down"),
        ("no user \"Ann O'Neil\" here", "no user <quoted> here"), ("can't do it", "can't do it"),
        ("id 550e8400-e29b-41d4-a716-446655440000", "id <uuid>"),
        ("sha 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "sha <sha1>"),
        ("took 12.5ms at 2026-11-22T09:00:00Z", "took <duration> at <date>"),
        ("value=-1.5e3, flag=true", "value=<float>, flag=<bool>"), ("Thread-12 item_7 v2", "Thread-<int> item_7 v2"),
        ("first\nsecond 2\nthird", "first\nsecond <int>"), ("", ""),
        ("EXC_BAD_ACCESS", "EXC_BAD_ACCESS"), ("blob deadbeef12", "blob <hex>"),
    ])
    func `Messages lose what differs each time`(_ message: String, _ pattern: String) {
        #expect(MessagePattern.of(message) == pattern)
    }
}
