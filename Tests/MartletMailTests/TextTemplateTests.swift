import MartletMail
import Testing

@Suite struct TextTemplateTests {
    @Test(
        arguments: [
            ("plain", []), ("{{a}}", ["a"]), ("{{a}}{{b}}", ["b"]), ("{{#c}}{{d}}{{/c}}", []),
            ("{{#a}}{{d}}{{/a}}", ["d"]), ("{{#d}}{{d}}{{/d}}", []),
        ] as [(String, Set<String>)])
    func `A placeholder without a value is missing, unless its section is left out`(
        source: String, missing: Set<String>
    ) throws {
        let known: Set<String> = source == "{{a}}" ? [] : ["a"]
        #expect(try TextTemplate(source, names: nil).missing(known) == missing)
    }

    @Test(arguments: [
        "{{1a}}", "{{a b}}", "{{ä}}", "{{a.b}}", "{{_a}}", "{{}}", "{{#}}{{/}}", "{{//a}}", "{{\u{200b}a}}",
        "{{\(String(repeating: "a", count: 65))}}",
    ])
    func `A name consists of letters, digits and underscores`(source: String) {
        #expect(throws: TextTemplateError.self) { try TextTemplate(source, names: nil) }
    }

    /// Attack: a quote with a combining accent is a different character to Swift, but a quote in HTML.
    @Test func `Values in HTML are escaped code point by code point`() throws {
        let template = try MailTemplate(
            subject: "{{v}}", text: "{{v}}", html: #"<a title="{{v}}">"#, names: nil, maximumBodySize: 100)
        let evil = "\"\u{301} onclick=\"x\" <\u{338}b>"
        let filled = template.filled(["v": evil])
        #expect(filled.text == evil && filled.subject == evil)
        #expect(filled.html == "<a title=\"&quot;\u{301} onclick=&quot;x&quot; &lt;\u{338}b&gt;\">")
    }
}
