import Foundation
import Glibc
import MartletCore
import Testing

@testable import MartletSentry

/// Inputs on which regular expressions used to backtrack. Limits are in CPU time, which other work on the machine does
/// not affect, and so wide that only a multiple of the usual time exceeds them.
@Suite struct LongNameTests {
    /// This thread's CPU time in milliseconds; the minimum of several runs.
    private static func cpuTime(_ work: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
        }
        return (0..<5).map { _ in
            let start = now()
            work()
            return now() - start
        }.min() ?? 0
    }

    /// Fragments of names that are repeated.
    private static let pieces = [
        "_block_invoke", "_block_invoke_1", "(", "()", "-[", ".cold", ".cold.1", ".1", "$", "$1", "$1/", "( in _",
        "(a in _A", "(1) await resume partial function for ",
        "closure #1 in ", "specialized ", "generic specialization <", "<", "a<", "0x", "0x0", "::h", "::", " + ", "_",
        "0", " : ", " -> ", "To", "TQ0_", "{", " ", ".-a", "operator()",
        "(anonymous namespace)", "e\u{301}",
    ]

    @Test(arguments: pieces, ["", "-[", "__", "$s", "a::", "(", "x"])
    func `A name takes little time, whatever it repeats`(_ piece: String, _ start: String) {
        for end in ["", "!", "]", "_block_invoke", ".cold", ")"] {
            // At the limit the end counts; longer names are cut.
            for length in [FunctionName.maximumLength, 2_000] {
                let pieces = String(
                    repeating: piece, count: (length - start.utf8.count - end.utf8.count - 10) / piece.utf8.count)
                // Each has a different number, because known names are cached.
                let names = (0..<5).map { _ in "\(start)\(pieces)\(UInt32.random(in: 0 ... .max))\(end)" }
                var index = 0
                let time = Self.cpuTime {
                    _ = FunctionName.normalized(names[index])
                    index += 1
                }
                #expect(time < 5, "\(start)\(piece)…\(end), \(length) bytes")
            }
        }
    }

    @Test func `Names that differ only beyond the examined length are the same`() throws {
        let name = String(repeating: "a", count: FunctionName.maximumLength)
        #expect(FunctionName.normalized(name + "b") == name)
        let report = #"{"exception":{"type":"E","stacktrace":{"frames":[{"function":"%","instruction_addr":1}]}}}"#
        let hashes = try ["b", "c"].map { end in
            Grouping(try #require(Event(try JSONValue(parsing: report.replacing("%", with: name + end).utf8), id: nil)))
                .appHash
        }
        #expect(hashes[0] == hashes[1])
    }

    @Test(arguments: [
        "\"", " \"", "'a ", "1 ", "0x", "1.", "a:", "::", "-1e", "%-1", "{", "1:11:", "+", "deadbeef", "e\u{301}1",
    ])
    func `A message takes little time`(_ piece: String) {
        for end in ["", "!", "\n", "1"] {
            // At the limit of `MessagePattern` the end counts; longer messages are cut.
            for length in [1_000, 2_000] {
                let message = String(repeating: piece, count: (length - end.utf8.count) / piece.utf8.count) + end
                #expect(Self.cpuTime { _ = MessagePattern.of(message) } < 25, "\(piece)…\(end), \(length) bytes")
            }
        }
    }

    /// Reports of maximum size that contain a fragment everywhere.
    @Test(arguments: ["_block_invoke", "(", ".cold", "$", "e\u{301}"])
    func `A report's time grows in proportion to its size`(_ piece: String) throws {
        func event(_ frames: Int) throws -> Event {
            let name = String(repeating: piece, count: 1_000 / piece.utf8.count)
            // Each is different, so that none is cached.
            let list = (0..<frames).map { _ in
                #"{"function":"\#(name.prefix(100))\#(UInt32.random(in: 0 ... .max))","module":"\#(name)","context_line":"\#(name)"}"#
            }
            let report =
                #"{"message":"\#(name)","exception":{"type":"E","value":"\#(name)","stacktrace":{"frames":[\#(list.joined(separator: ","))]}}}"#
            return try #require(Event(try JSONValue(parsing: report.utf8), id: nil))
        }
        let (few, many) = (try event(50), try event(200))
        let (short, long) = (Self.cpuTime { _ = Grouping(few) }, Self.cpuTime { _ = Grouping(many) })
        #expect(long < 12 * short + 5, "\(short) ms, \(long) ms")
    }

    @Test(arguments: [
        ("_block_invoke", "_block_invoke"), ("x_block_invoke", "x block"), ("__9x_block_invoke_12", "x block"),
        ("___block_invoke", "_ block"), ("_9_block_invoke", "9 block"),
        ("a_block_invoke_b_block_invoke3", "a_block_invoke_b block"), ("a_block_invoke_", "a_block_invoke_"),
        ("a_block_invoke__2", "a_block_invoke__2"),
        ("-[A b] + 4", "-[A b]"), ("-[A(B) c:(d)]", "-[A c:]"), ("-[A(B c]", "-[A(B c]"), ("f + 36", "f"),
        ("f + x", "f + x"), ("f.cold.1.2.part.3", "f"), ("f.1.cold", "f.1"),
        (".cold", ""), ("f.cold.x", "f.cold.x"), ("a.(b in _AB).c", "a.b.c"), ("a.(b in _ab).c", "a."),
        ("$s1aTQ0_TY1_To", "$s1a"), ("_$s1aF", "$s1aF"), ("$$$3$x", "$$x"),
        ("a$1/b c", "a$ c"), ("a$1/ c", "a$/ c"), ("0x", "0x"), ("x0xfz", "x<addr>z"),
        ("(12) suspend resume partial function for f", "f"),
    ])
    func `Removable parts of names are found in unusual forms, too`(_ name: String, _ normalized: String) {
        #expect(FunctionName.normalized(name) == normalized)
    }

    @Test(arguments: [
        ("main.3f2a91bc.js", "main.js"), ("a-0123456789abcdef.b.js", "a.b.js"), ("a.1234567.js", "a.1234567.js"),
        ("a.3f2a91bg.js", "a.3f2a91bg.js"), ("a.3f2a91bc", "a.3f2a91bc"),
    ])
    func `A file's name loses the hash of a build`(_ name: String, _ kept: String) throws {
        func hash(_ name: String) throws -> String {
            let report =
                #"{"exception":{"type":"E","stacktrace":{"frames":[{"function":"f","filename":"/x/\#(name)"}]}}}"#
            return Grouping(try #require(Event(try JSONValue(parsing: report.utf8), id: nil))).appParts.joined(
                separator: " ")
        }
        #expect(try hash(name).contains(kept + "|"))
    }

    @Test(arguments: [
        ("%s and %d", "[1,2]", "1 and 2"), ("{} %", "[1,2]", "1 %"), ("%-08.3f|%@|%5%s", "[1,2,3]", "1|2|%53"),
        ("%s", "[]", "%s"), ("{ }", "[1]", "{ }"), ("%%s", "[1]", "%1"),
    ])
    func `Parameters are filled in`(_ template: String, _ parameters: String, _ message: String) throws {
        let report = #"{"logentry":{"message":"\#(template)","params":\#(parameters)}}"#
        #expect(Event(try JSONValue(parsing: report.utf8), id: nil)?.message == message)
    }

    @Test func `raven's member names are understood`() throws {
        let report = """
            {"message":"told","sentry.interfaces.Message":{"message":"hi %s","params":["Ann"]},"sentry.interfaces.Exception":[{"type":"E","value":"broken"}],
            "sentry.interfaces.Stacktrace":{"frames":[{"function":"f"}]},"sentry.interfaces.User":{"id":"u1"},"sentry.interfaces.Http":{"url":"https://a.example/"},
            "sentry.interfaces.Breadcrumbs":{"values":[]},"sentry.interfaces.Contexts":{"os":{"name":"iOS","version":"9"}}}
            """
        let event = try #require(Event(Event.sentryForm(of: try JSONValue(parsing: report.utf8)), id: nil))
        #expect(
            event.template == "hi %s" && event.message == "hi Ann" && event.exceptions.map(\.value) == ["broken"]
                && event.person == "u1" && event.os == "iOS 9")
        #expect(event.frames.map(\.function) == ["f"] && event.content["request"] != nil && event.problems.isEmpty)
        let both =
            #"{"user":{"id":"new"},"sentry.interfaces.User":{"id":"old"},"logentry":null,"sentry.interfaces.Message":{"formatted":"m"}}"#
        let second = try #require(Event(Event.sentryForm(of: try JSONValue(parsing: both.utf8)), id: nil))
        #expect(second.person == "new" && second.message == "m")
    }
}
