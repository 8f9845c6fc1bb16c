import MartletCore
import Testing

@Suite struct TextBytesTests {
    @Test(arguments: ["", "a", "'", "''", "\u{600}'", "'\u{301}", "'\u{200d}'", "a'\u{fe0f}b", "\u{1f1e8}'\u{1f1ed}", "\u{d4e}'x"])
    func `every quote is doubled, whatever stands around it`(_ text: String) {
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

    @Test func `parts, marks and beginnings are told by bytes`() {
        #expect("a\u{600}.b".parts(between: ".") == ["a\u{600}", "b"])
        #expect("a.\u{301}b".parts(between: ".").map { Array($0.unicodeScalars) } == [["a"], ["\u{301}", "b"]])
        #expect("".parts(between: ".") == [""] && "a..b.".parts(between: ".") == ["a", "", "b", ""])
        #expect("a.\u{301}".holds(".") && !"ab".holds("."))
        #expect("$\u{301}".begins(with: "$") && !"a$".begins(with: "$") && !"".begins(with: "$"))
    }
}
