import Foundation
import Glibc
import Testing

/// Runs every regular expression in the sources on the worst input it can get.
///
/// Time limits are in CPU time of this thread, which other work on the machine does not affect.
@Suite struct RegularExpressionTests {
    private static let maximumMilliseconds = 5.0

    /// For patterns with unbounded repetition: the maximum size of their input in bytes, and whether they search in it
    /// instead of matching all of it.
    private static let limits: [String: (bytes: Int, isSearch: Bool)] = [
        // `Thumbnailer`: the output of vipsheader.
        #": (\d{1,9})x(\d{1,9}) [a-z]+, (\d+) bands?, ([a-z0-9-]+)(?:, ([a-z]+load)[a-z_]*)?$"#: (200, true),
        // `MultipartParser`: the heads of a request and of a part.
        #"; *boundary="#: (32 << 10, true), #"; *\(name)=\""#: (8 << 10, true),
    ]
    /// For patterns in which every repetition has a bound, so that longer input makes no difference.
    private static let boundedLimit = 32 << 10

    struct Literal: Sendable, CustomStringConvertible {
        var file: String
        var pattern: String
        /// Whether the pattern runs on Foundation's engine, ICU.
        var isFoundations: Bool

        var description: String { "\(file): \(pattern)" }
    }

    @Test func `Every pattern is listed, and unbounded repetitions have a limit here and in the code`() throws {
        let found = try Self.literals.get()
        #expect(found.count > 15)
        let unbounded = found.filter { Self.limits[$0.pattern] == nil && Self.repeatsWithoutBound($0.pattern) }
        #expect(
            unbounded.map(\.description) == [],
            "Replace it with a scanner, or give its input a limit and name that here."
        )
        #expect(Set(Self.limits.keys).subtracting(found.map(\.pattern)) == [], "These are gone from the sources.")
    }

    @Test func `No pattern is slow on any input within its limit`() throws {
        var made: [Int: [String]] = [:]
        for literal in try Self.literals.get() {
            let limit = Self.limits[literal.pattern]
            let bytes = limit?.bytes ?? Self.boundedLimit
            let texts = made[bytes] ?? Self.texts(bytes)
            made[bytes] = texts
            let run = try Self.runner(literal, isSearch: limit?.isSearch ?? false)
            for text in texts {
                var time = Self.cpuTime(runs: 1) { run(text) }
                // A single run is enough for fast patterns; another test may have evicted the processor's cache.
                if time > Self.maximumMilliseconds / 2 { time = Self.cpuTime(runs: 5) { run(text) } }
                #expect(time < Self.maximumMilliseconds, "\(literal) on \(text.prefix(30).debugDescription)…")
                guard time > 1 else { continue }
                // Four times the input takes four times as long, not sixteen.
                let quarter = String(text.prefix(bytes / 4))
                let whole = Self.cpuTime(runs: 10) { run(text) }
                #expect(whole < 10 * max(Self.cpuTime(runs: 10) { run(quarter) }, 0.1), "\(literal)")
            }
        }
    }

    private static func runner(_ literal: Literal, isSearch: Bool) throws -> (String) -> Void {
        let pattern = literal.pattern.replacing(#"\(name)"#, with: "filename").replacing(#"\""#, with: "\"")
        if literal.isFoundations {
            return { _ = $0.range(of: pattern, options: [.regularExpression, .caseInsensitive]) }
        }
        let regex = try Regex(pattern)
        return isSearch ? { _ = try? regex.firstMatch(in: $0) } : { _ = try? regex.wholeMatch(in: $0) }
    }

    /// Repetitions of all fragments of the patterns, alone and in pairs, with and without an end that nothing matches.
    private static func texts(_ bytes: Int) -> [String] {
        let pieces = [
            "a", "A", "0", "2", "20", "-", "_", ".", "/", ":", ",", " ", ";", "#", "+", "T", "load",
            ": 1x1 a, 1 band, a", "Europe/", "20-", "; b", "e\u{301}",
        ]
        let pairs: [String] = pieces.prefix(7).flatMap { first in pieces.prefix(7).map { first + $0 } }
        var texts: [String] = []
        for piece in pieces + pairs {
            let text = String(repeating: piece, count: max(1, bytes / piece.utf8.count))
            func cut(_ count: Int) -> String { String(decoding: text.utf8.dropLast(count), as: UTF8.self) }
            texts += [text, cut(1) + "\u{1}", "Aa" + cut(2), ": 1x1 a, 1 band, a, " + cut(22) + "!"]
        }
        return texts
    }

    /// The duration of the fastest of several runs, in milliseconds.
    private static func cpuTime(runs: Int, _ work: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
        }
        var least = Double.infinity
        for _ in 0..<runs {
            let start = now()
            work()
            least = min(least, now() - start)
        }
        return least
    }

    private static func repeatsWithoutBound(_ pattern: String) -> Bool {
        var isEscaped = false, isInBrackets = false
        for (character, next) in zip(pattern, pattern.dropFirst() + " ") {
            defer { isEscaped = character == "\\" && !isEscaped }
            if isEscaped { continue }
            switch character {
            case "[": isInBrackets = true
            case "]": isInBrackets = false
            case "*", "+": if !isInBrackets { return true }
            case ",": if !isInBrackets, next == "}" { return true }
            default: break
            }
        }
        return false
    }

    /// `/…/` and `#/…/#` where an expression may begin, `Regex("…")`, and the argument of `.regularExpression`.
    private static let starts = ["#/", " /", "(/", "[/", "Regex", "NSRegular", ".regularExpression"]

    private static let literals = Result { try read() }

    private static func read() throws -> [Literal] {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        let files =
            FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
            ?? []
        var literals: [Literal] = []
        for file in files where file.pathExtension == "swift" {
            for line in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
                let code = String(decoding: line.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
                // Most lines contain none, and a regular expression would be slow on them.
                guard !code.hasPrefix("//"), code.withCString({ line in starts.contains { strstr(line, $0) != nil } })
                else { continue }
                func add(_ pattern: Substring, _ isFoundations: Bool = false) {
                    literals.append(
                        Literal(file: file.lastPathComponent, pattern: String(pattern), isFoundations: isFoundations))
                }
                for match in code.matches(of: #/#\/(.+?)\/#/#) { add(match.1) }
                for match in code.matches(
                    of: #/(?:of: |= |\(|, |\[|: |return )\/([^ \/*"](?:[^"\/\\]|\\.|\[[^\]]*\])*)\/(?=[).,\]; ]|$)/#)
                { add(match.1) }
                for match in code.matches(of: #/(?:Regex|NSRegularExpression\(pattern:) ?\(?"((?:[^"\\]|\\.)+)"/#) {
                    add(match.1)
                }
                if code.contains(".regularExpression"), let match = code.firstMatch(of: #/of: "((?:[^"\\]|\\.)+)"/#) {
                    add(match.1, true)
                }
            }
        }
        return literals
    }
}
