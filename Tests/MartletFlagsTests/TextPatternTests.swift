import MartletFlags
import Testing

@Suite("Regular expressions")
struct TextPatternTests {
    @Test("Patterns are found where ECMAScript finds them", arguments: [
        ("", "x", true), ("a", "cat", true), ("^a", "cat", false), ("t$", "cat", true), ("^$", "", true), ("a.c", "a\nc", false), ("a.c", "abc", true),
        ("ab*c", "ac", true), ("ab+c", "ac", false), ("ab?c", "abbc", false), ("a{2}", "aa", true), ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaa", true),
        ("a{,2}", "a{,2}", true), ("x{a}", "x{a}", true), ("cat|dog", "hotdog", true), ("^(cat|dog)$", "hotdog", false), ("^(?:ab)+$", "ababab", true),
        ("(?<year>\\d{4})-\\d\\d", "on 2026-11-22", true), ("[a-c]+", "xbz", true), ("^[^a-c]+$", "xyz", true), ("[]a]", "a", false), ("[a\\]]", "]", true),
        ("[\\w.-]+@[\\w-]+\\.com", "me.you@ex-ample.com", true), ("\\bcat\\b", "a cat sat", true), ("\\bcat\\b", "concat", false), ("\\Bcat", "concat", true),
        ("\\S\\s\\S", "a b", true), ("\\u0041\\x42", "AB", true), ("a\\.b", "axb", false), ("^.$", "é", true), ("[-a]", "-", true), ("[a-]", "-", true),
        ("(a|b)*c", "ababc", true), ("a*?b", "aaab", true), ("\\/", "/", true), ("😀+", "😀😀", true),
    ])
    func found(_ pattern: String, _ text: String, _ isFound: Bool) throws {
        #expect(try TextPattern(pattern).isFound(in: text) == isFound)
    }

    @Test("Case does not count where it is not to", arguments: [("ÄB[c-e]", "äbD", true), ("straße", "STRASSE", false), ("[^a]", "A", false)])
    func ignoringCase(_ pattern: String, _ text: String, _ isFound: Bool) throws {
        #expect(try TextPattern(pattern, ignoringCase: true).isFound(in: text) == isFound)
    }

    @Test("What is no pattern, or would need to look back, is refused", arguments: [
        "(", ")", "a)", "[a", "*", "a**", "a{3,2}", "\\", "\\1", "(a)\\1", "(?=a)", "(?<!a)", "\\p{L}", "[z-a]", "a{1000}", "(a{200}){200}", "(((((){255}){255}){255}){255}){255}",
        String(repeating: "a", count: 600), String(repeating: "(", count: 100),
    ])
    func refused(_ pattern: String) {
        #expect(throws: TextPatternError.self) { try TextPattern(pattern) }
    }

    @Test("Patterns that others take for ever on are answered")
    func bounded() throws {
        let long = String(repeating: "a", count: 1_000)
        #expect(try !TextPattern("^(a+)+$").isFound(in: long + "!"))
        #expect(try !TextPattern("(a|aa)*(a|aa)*(a|aa)*b").isFound(in: long))
        #expect(try !TextPattern("(.*)*(.*)*x{250}").isFound(in: long))
        #expect(try !TextPattern("a").isFound(in: String(repeating: "a", count: 2_000)), "longer texts match nothing")
    }
}
