import MartletCore
import MartletLocalization
import Testing

@Suite("Catalogues")
struct CatalogueTests {
    private static func catalogue(
        _ strings: String,
        languages: String = #"{"en":{"published":true},"de":{"published":true},"pl":{"published":false}}"#
    ) throws -> Catalogue {
        try Catalogue(
            try JSONValue(parsing: #"{"sourceLanguage":"en","languages":\#(languages),"strings":{\#(strings)}}"#.utf8))
    }

    private static func unit(_ value: String, _ state: String = "translated") -> String {
        #"{"stringUnit":{"state":"\#(state)","value":"\#(value)"}}"#
    }

    private static func key(_ name: String, _ texts: (String, String)...) -> String {
        #""\#(name)":{"localizations":{\#(texts.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}}"#
    }

    private static func plural(_ forms: (String, String)...) -> String {
        #"{"variations":{"plural":{\#(forms.map { "\"\($0.0)\":\(unit($0.1))" }.joined(separator: ","))}}}"#
    }

    @Test(
        "are checked for what breaks clients, and for what only looks wrong",
        arguments: [
            (
                key("a", ("en", unit("%@ has %lld")), ("de", unit("%lld von %@"))),
                ["placeholder-mismatch! /strings/a/localizations/de"]
            ),
            (key("a", ("en", unit("%@ has %lld")), ("de", unit("%2$lld von %1$@"))), []),
            (
                key("a", ("en", unit("%@")), ("de", unit("%@ %@"))),
                ["placeholder-mismatch! /strings/a/localizations/de"]
            ),
            (key("a", ("en", unit("%@ %d")), ("de", unit("%@"))), ["missing-placeholder /strings/a/localizations/de"]),
            (
                key("a", ("en", unit("%@")), ("de", unit("ok %@")), ("pl", unit("%lld"))),
                ["placeholder-mismatch /strings/a/localizations/pl"]
            ),
            (
                key(
                    "a", ("en", plural(("one", "a dog"), ("other", "%lld dogs"))),
                    ("de", plural(("one", "ein Hund"), ("other", "%lld Hunde")))), []
            ),
            (
                key("a", ("en", plural(("one", "1"), ("other", "%lld"))), ("de", plural(("one", "eins")))),
                ["missing-other! /strings/a/localizations/de/variations/plural", "missing-keys /languages/de"]
            ),
            (
                key(
                    "a", ("en", plural(("one", "1"), ("other", "2"))), ("de", unit("x")),
                    ("pl", plural(("one", "1"), ("two", "2"), ("other", "3")))),
                [
                    "missing-plural /strings/a/localizations/pl/variations/plural",
                    "missing-plural /strings/a/localizations/pl/variations/plural",
                    "unused-plural /strings/a/localizations/pl/variations/plural/two",
                ]
            ),
            (key("a", ("en", unit("x")), ("de", unit(" x"))), ["whitespace /strings/a/localizations/de"]),
            (
                key("a", ("en", unit("x")), ("de", unit(""))),
                ["missing-keys /languages/de", "empty /strings/a/localizations/de"]
            ),
            (key("a", ("en", unit("x")), ("de", unit("y", "needs_review"))), ["needs-review /languages/de"]),
            (
                key("a", ("en", unit("x")), ("de", unit("%#@dogs@"))),
                [
                    "placeholder-mismatch! /strings/a/localizations/de",
                    "unknown-substitution! /strings/a/localizations/de",
                ]
            ),
            (
                key("a", ("en", unit("Hi {name}")), ("de", unit("Hallo {nam}"))),
                ["missing-placeholder /strings/a/localizations/de"]
            ),
            (key("dogs", ("de", unit("%lld Hunde"))), ["placeholder-mismatch /strings/dogs/localizations/de"]),
            (key("100% sure", ("de", unit("100 % sicher"))), []),
        ] as [(String, [String])])
    func lint(strings: String, expected: [String]) throws {
        let found = Lint.findings(in: try Self.catalogue(strings)).map {
            "\($0.code.rawValue)\($0.isError ? "!" : "") \($0.path)"
        }
        #expect(found.sorted() == expected.sorted())
    }

    @Test("report at most 1,000 findings, and the number of the others")
    func manyFindings() throws {
        let strings = (0..<1_200).map { Self.key("k\($0)", ("en", Self.unit("%@")), ("de", Self.unit("%lld"))) }.joined(
            separator: ",")
        let findings = Lint.findings(in: try Self.catalogue(strings))
        #expect(findings.count == 1_001)
        #expect(findings.last?.message == "There are 200 more.")
    }

    @Test("fill missing texts from the parents, the fallback and the source language, in this order")
    func fallback() throws {
        let languages =
            #"{"de-AT":{"published":true},"de":{"published":true,"fallback":"nl"},"nl":{"published":false},"zh-Hant":{"published":true}}"#
        let catalogue = try Self.catalogue(
            [
                Self.key("a", ("en", Self.unit("en a")), ("de-AT", Self.unit("at a"))),
                Self.key("b", ("en", Self.unit("en b")), ("de", Self.unit("de b")), ("de-AT", Self.unit("x", "new"))),
                Self.key("c", ("en", Self.unit("en c")), ("nl", Self.unit("nl c"))),
                Self.key("d", ("en", Self.unit("en d")), ("de", Self.unit(""))), #""e":{}"#,
                #""f":{"shouldTranslate":false,"localizations":{"en":\#(Self.unit("Martlet")),"de":\#(Self.unit("Segler"))}}"#,
                Self.key("g", ("en", Self.plural(("one", "1"), ("other", "n"))), ("de", Self.plural(("one", "1")))),
            ].joined(separator: ","), languages: languages)
        let austrian = try #require(LanguageTag("de-AT"))
        #expect(catalogue.chain(of: austrian).map(\.text) == ["de-AT", "de", "nl", "en"])
        #expect(
            catalogue.table(of: austrian).text
                == #"{"language":"de-AT","sourceLanguage":"en","fallback":["de","nl","en"],"strings":{"a":"at a","b":"de b","c":"nl c","d":"en d","e":"e","f":"Martlet","g":{"plural":{"one":"1","other":"n"}}},"languages":{"b":"de","c":"nl","d":"en","e":"en","f":"en","g":"en"}}"#
        )
        for (requested, found) in [
            ("de-CH", "de"), ("de-AT", "de-AT"), ("nl", nil), ("zh-TW", nil), ("zh-Hant-TW", "zh-Hant"),
        ] {
            #expect(LanguageTag(requested)?.closest(in: catalogue.publishedLanguages)?.text == found)
        }
        #expect(catalogue.pseudoTable()?["strings"]?["a"] == .string("[éñ å one]"))
    }

    @Test("count missing texts and those to be reviewed")
    func coverage() throws {
        let catalogue = try Self.catalogue(
            [
                Self.key("a", ("de", Self.unit("x"))), Self.key("b", ("de", Self.unit("y", "needs_review"))),
                Self.key("c"), #""d":{"shouldTranslate":false}"#,
            ].joined(separator: ","))
        let german = try #require(catalogue.coverage.first { $0.language.text == "de" })
        #expect((german.keys, german.missing, german.needsReview) == (3, 1, 1))
        #expect(catalogue.coverage.first { $0.language.text == "en" }?.missing == 0)
    }

    @Test("count what an import adds, changes, leaves unchanged and removes")
    func merge() throws {
        var catalogue = try Self.catalogue(
            [
                Self.key("a", ("en", Self.unit("A")), ("de", Self.unit("x", "needs_review"))),
                Self.key("b", ("en", Self.unit("B")), ("de", Self.unit("y", "needs_review"))),
                Self.key("z", ("de", Self.unit("z"))),
            ].joined(separator: ","))
        let german = try #require(LanguageTag("de"))
        let file = try CatalogueFormat.json.read(
            Array(#"{"a":"x","b":"changed","c":"new"}"#.utf8), try RoundTripTests.options())
        let rule = Catalogue.MergeRule(.json, replaces: true, of: german, in: catalogue)
        let changes = catalogue.merge(file, rule)
        #expect((changes.added, changes.changed, changes.unchanged, changes.removed) == (1, 1, 1, 1))
        #expect(catalogue.entries.map(\.key) == ["a", "b", "c"])
        #expect(catalogue["a"]?.localizations[german] == Localization(.unit(Unit("x", .needsReview))))
        #expect(catalogue["b"]?.localizations[german] == Localization(.unit(Unit("changed"))))
        #expect(catalogue.languages.count == 3)
    }
}
