import Glibc
import MartletPatterns
import Testing

@Suite("Regular expressions")
struct TextPatternTests {
    @Test(
        "Patterns match like those of ECMAScript",
        arguments: [
            ("", "x", true), ("a", "cat", true), ("^a", "cat", false), ("t$", "cat", true), ("^$", "", true),
            ("a.c", "a\nc", false), ("a.c", "abc", true),
            ("ab*c", "ac", true), ("ab+c", "ac", false), ("ab?c", "abbc", false), ("a{2}", "aa", true),
            ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaa", true),
            ("a{,2}", "a{,2}", true), ("x{a}", "x{a}", true), ("cat|dog", "hotdog", true),
            ("^(cat|dog)$", "hotdog", false), ("^(?:ab)+$", "ababab", true),
            ("(?<year>\\d{4})-\\d\\d", "on 2026-11-22", true), ("[a-c]+", "xbz", true), ("^[^a-c]+$", "xyz", true),
            ("[]a]", "a", false), ("[a\\]]", "]", true),
            ("[\\w.-]+@[\\w-]+\\.com", "me.you@ex-ample.com", true), ("\\bcat\\b", "a cat sat", true),
            ("\\bcat\\b", "concat", false), ("\\Bcat", "concat", true),
            ("\\S\\s\\S", "a b", true), ("\\u0041\\x42", "AB", true), ("a\\.b", "axb", false), ("^.$", "é", true),
            ("[-a]", "-", true), ("[a-]", "-", true),
            ("(a|b)*c", "ababc", true), ("a*?b", "aaab", true), ("\\/", "/", true), ("😀+", "😀😀", true),
        ])
    func found(_ pattern: String, _ text: String, _ isFound: Bool) throws {
        #expect(try TextPattern(pattern).isFound(in: text) == isFound)
    }

    @Test(
        "Case can be ignored",
        arguments: [("ÄB[c-e]", "äbD", true), ("straße", "STRASSE", false), ("[^a]", "A", false)])
    func ignoringCase(_ pattern: String, _ text: String, _ isFound: Bool) throws {
        #expect(try TextPattern(pattern, ignoringCase: true).isFound(in: text) == isFound)
    }

    @Test(
        "Invalid patterns, and those that need to look back, are refused",
        arguments: [
            "(", ")", "a)", "[a", "*", "a**", "a{3,2}", "\\", "\\1", "(a)\\1", "(?=a)", "(?<!a)", "\\p{L}", "[z-a]",
            "a{1000}", "(a{200}){200}", "(((((){255}){255}){255}){255}){255}",
            String(repeating: "a", count: 600), String(repeating: "(", count: 100),
        ])
    func refused(_ pattern: String) {
        #expect(throws: TextPatternError.self) { try TextPattern(pattern) }
    }

    @Test("Patterns on which backtracking never ends are matched")
    func bounded() throws {
        let long = String(repeating: "a", count: 1_000)
        #expect(try !TextPattern("^(a+)+$").isFound(in: long + "!"))
        #expect(try !TextPattern("(a|aa)*(a|aa)*(a|aa)*b").isFound(in: long))
        #expect(try !TextPattern("(.*)*(.*)*x{250}").isFound(in: long))
        #expect(try !TextPattern("a").isFound(in: String(repeating: "a", count: 2_000)), "longer texts match nothing")
    }
}

extension TextPatternTests {
    @Test(arguments: [
        "(a?){150}", "(.*)*(.*)*x{200}", "(a|aa|b)*c{100}", "a*a*a*a*a*a*a*a*a*a*b", "[a-z]{250}$", "(a*)*b",
    ])
    func `The work per text is bounded for every pattern`(_ pattern: String) throws {
        let compiled = try TextPattern(pattern)
        // Text beyond the bound is not searched; up to it, the time grows in proportion to the text.
        func time(_ count: Int) -> Double {
            let text = String(repeating: "a", count: count)
            return (0..<3).map { _ in
                var (start, end) = (timespec(), timespec())
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
                _ = compiled.isFound(in: text)
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
                return Double(end.tv_sec - start.tv_sec) * 1_000 + Double(end.tv_nsec - start.tv_nsec) / 1_000_000
            }.min() ?? 0
        }
        for count in [64, 128, 256, 512, 1_024] {
            // For a text shorter than the pattern both lengths count: sixteen times as long for four times the length,
            // and no more.
            #expect(time(count) < 40 * max(time(count / 4), 1), "\(count)")
        }
    }

    @Test(arguments: [("a", 1_024), ("a{90}", 1_024), ("a{250}", 398), ("(a?){200}", 249)])
    func `Patterns with more steps apply to shorter texts only`(_ pattern: String, _ limit: Int) throws {
        let compiled = try TextPattern(pattern)
        #expect(compiled.textLimit == limit)
        #expect(compiled.isFound(in: String(repeating: "a", count: limit)))
        #expect(!compiled.isFound(in: String(repeating: "a", count: limit + 1)))
    }
}
