import MartletCore
import Testing

@Suite struct TextBytesTests {
    /// Swift considers the texts of each pair equal.
    @Test(arguments: [("K", "\u{212a}"), ("caf\u{e9}", "cafe\u{301}"), ("a\u{b7}b", "a\u{387}b"), ("a;b", "a\u{37e}b")])
    func `texts that only look alike are different`(_ one: String, _ other: String) throws {
        #expect(one == other)
        #expect(one.hasSameBytes(as: one) && !one.hasSameBytes(as: other) && "".hasSameBytes(as: ""))
        #expect(Set([ExactText(one), ExactText(other), ExactText(one)]).count == 2)
        let object = try JSONValue(parsing: "{\"\(one)\":1,\"\(other)\":2}".utf8)
        #expect(object[one] == .number("1") && object[other] == .number("2"))
        #expect(
            JSONValue.string(one) != .string(other)
                && JSONValue.object([.init(one, .null)]) != .object([.init(other, .null)]))
        let patch = try JSONValue(parsing: "{\"\(other)\":null,\"x\":[\"\(other)\"]}".utf8)
        #expect(object.merging(patch).text == "{\"\(one)\":1,\"x\":[\"\(other)\"]}")
        let changes = JSONPatch(
            from: .object([.init(one, .string(one))]), to: .object([.init(one, .string(other)), .init(other, .null)]))
        #expect(changes.operations.count == 2, "\(changes)")
    }

    @Test(arguments: [
        "", "a", "'", "''", "\u{600}'", "'\u{301}", "'\u{200d}'", "a'\u{fe0f}b", "\u{1f1e8}'\u{1f1ed}", "\u{d4e}'x",
    ])
    func `every quote is doubled, whatever surrounds it`(_ text: String) {
        let quoted = Array(text.enclosed(in: "'").unicodeScalars)
        #expect(quoted.first == "'" && quoted.last == "'")
        var inner: [Unicode.Scalar] = []
        var index = 1
        while index < quoted.count - 1 {
            inner.append(quoted[index])
            if quoted[index] == "'" {
                #expect(quoted[index + 1] == "'", "\(text.debugDescription)")
                index += 1
            }
            index += 1
        }
        #expect(index == quoted.count - 1)
        #expect(inner == Array(text.unicodeScalars))
    }

    @Test func `parts, separators and prefixes are compared by bytes`() {
        #expect("a\u{600}.b".parts(between: ".") == ["a\u{600}", "b"])
        #expect("a.\u{301}b".parts(between: ".").map { Array($0.unicodeScalars) } == [["a"], ["\u{301}", "b"]])
        #expect("".parts(between: ".") == [""] && "a..b.".parts(between: ".") == ["a", "", "b", ""])
        #expect("a.\u{301}".holds(".") && !"ab".holds("."))
        #expect("$\u{301}".begins(with: "$") && !"a$".begins(with: "$") && !"".begins(with: "$"))
    }
}
