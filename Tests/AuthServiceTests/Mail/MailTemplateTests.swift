import Foundation
import MartletCore
import MartletHTTP
import MartletMail
import Testing

@testable import AuthService

@Suite struct MailTemplateTests {
    @Test(arguments: [
        ("plain", "plain"), ("{{app}}", "Shop"), ("a {{app}} b {{email}}", "a Shop b "), ("{{#app}}yes{{/app}}", "yes"),
        ("{{#email}}no{{/email}}", ""),
        ("{{#app}}[{{app}}]{{/app}}{{#email}}[{{email}}]{{/email}}!", "[Shop]!"), ("} {", "} {"), ("", ""),
    ])
    func `Values are filled in, and sections appear only with a value`(source: String, expected: String) throws {
        #expect(try TextTemplate(source, names: ["app", "email"]).filled(["app": "Shop"]) == expected)
    }

    @Test(arguments: [
        "{{", "{{app", "{{ap}}", "{{}}", "{{ app }}", "{{#app}}", "{{/app}}", "{{#app}}{{#app}}{{/app}}{{/app}}",
        "{{#app}}{{/email}}", "{{##app}}{{/app}}", "{{{app}}}",
        "{{>app}}", "{{&app}}", "{{=<% %>=}}", "{{token}}",
    ])
    func `A template's errors are reported`(source: String) {
        #expect(throws: TextTemplateError.self) { try TextTemplate(source, names: ["app", "email"]) }
    }

    @Test func `The value of a placeholder is not parsed as a template`() throws {
        #expect(
            try TextTemplate("{{app}}", names: ["app", "email"]).filled(["app": "{{email}}", "email": "x"])
                == "{{email}}")
    }

    @Test(arguments: MailKind.allCases, BuiltInTemplates.languages)
    func `Every kind of mail has templates in both languages, with all required placeholders`(
        kind: MailKind, language: String
    ) throws {
        let template = try #require(BuiltInTemplates.template(kind, language))
        var values = Dictionary(uniqueKeysWithValues: kind.values.map { ($0, "<\($0)-7>") })
        let filled = template.filled(values)
        #expect(!filled.subject.isEmpty && !filled.text.contains("{{") && filled.html?.contains("{{") == false)
        for name in ["code", "link"] where kind.hasProof {
            #expect(filled.text.contains("<\(name)-7>") && filled.html?.contains("&lt;\(name)-7&gt;") == true)
        }
        #expect(filled.html?.contains("-7>") == false)
        values["link"] = nil
        #expect(
            !template.filled(values).text.contains("link-7") && template.filled(values).html?.contains("href") == false)
    }

    @Test(arguments: [
        (1, "en", "1 minute"), (600, "en", "10 minutes"), (600, "de", "10 Minuten"), (3_600, "de-at", "1 Stunde"),
        (86_400, "en", "24 hours"), (86_399, "de", "24 Stunden"), (172_800, "en", "2 days"), (604_795, "en", "7 days"),
        (604_800, "de", "7 Tage"), (604_800, "den", "7 days"), (597_600, "fr", "6 days"),
    ])
    func `Long durations are written in days`(seconds: Int, language: String, text: String) {
        #expect(DurationText.text(seconds: Int64(seconds), language: language) == text)
    }

    @Test(arguments: [
        ("https://shop.example.org/open?t={token}", true), ("https://shop.example.org/#{kind}/{token}", true),
        ("shop://auth/{token}", true),
        ("shop.app:///auth?token={token}&kind={kind}", true), ("http://shop.example.org/{token}", false),
        ("https://shop.example.org/", false),
        ("https://{token}.example.org/", false), ("https://{token}", false),
        ("https://shop.example.org@evil.org/{token}", false), ("javascript:alert('{token}')", false),
        ("javascript://x/{token}", false),
        ("data:text/html,{token}", false), ("//shop.example.org/{token}", false), ("/{token}", false),
        ("{token}", false), ("https:///{token}", false),
        ("https://shop.example.org/{token}{token}", false), ("https://shop.example.org/{user}/{token}", false),
        ("https://shop.example.org/ {token}", false),
        ("https://shop.example.org/{token}\r\nX: y", false), ("https://shop.example.org\\@evil.org/{token}", false),
        ("shop:{token}", false), ("HTTP://shop.example.org/{token}", false),
    ])
    func `Links use https or an app's scheme, and the token comes after the host`(url: String, isGood: Bool) {
        let isAccepted = (try? MailLink.check(url, field: "link")) != nil
        #expect(isAccepted == isGood, "\(url)")
    }

    @Test(
        arguments: [
            (nil, []), ("de", ["de"]), ("de-AT,de;q=0.9,en;q=0.5", ["de-AT", "de", "en"]),
            ("en;q=0.3, fr;q=0.8", ["fr", "en"]), ("*", []), ("xx;q=0", []),
            ("de\r\nX: y", []), (String(repeating: "de,", count: 400), []),
        ] as [(String?, [String])])
    func `The languages of a request are read from its header`(header: String?, expected: [String]) {
        #expect(LanguageTag.accepted(header).map(\.text) == expected)
    }

    @Test func `A language tag falls back to more general tags`() {
        #expect(LanguageTag("zh-Hant-TW")?.chain == ["zh-hant-tw", "zh-hant", "zh"])
        #expect(LanguageTag("en-a-BB")?.chain == ["en-a-bb", "en"])
        for wrong in ["", "d", "de_AT", "de-", "-de", "de-a-b-c-d", "../de", "dé"] {
            #expect(LanguageTag(wrong) == nil, "\(wrong)")
        }
    }

    @Test(arguments: [
        ("a@mailinator.com", true), ("a@x.y.mailinator.com", true), ("a@notmailinator.com.example.org", false),
        ("a@example.org", false), ("a@com", false),
    ])
    func `Disposable mailboxes are recognized by their domain`(address: String, isDisposable: Bool) {
        #expect(DisposableAddresses.contains(address) == isDisposable)
    }
}
