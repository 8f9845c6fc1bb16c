import MartletCore
import MartletLocalization
import MartletPlurals
import Testing

@Suite("Plural rules")
struct PluralRulesTests {
    @Test(
        "every sample of CLDR falls into its category", .enabled(if: Vectors.areThere),
        arguments: [
            ("cldr47-plurals.json", "plurals-type-cardinal", PluralRules.Kind.cardinal, 219),
            ("cldr47-ordinals.json", "plurals-type-ordinal", .ordinal, 104),
        ])
    func samples(file: String, member: String, kind: PluralRules.Kind, languages: Int) throws {
        guard case .object(let rules)? = try Vectors.json(file)["supplemental"]?[member] else {
            Issue.record("no rules")
            return
        }
        #expect(rules.count == languages)
        var samples = 0
        for language in rules {
            let read = try #require(
                LanguageTag(language.name).flatMap { PluralRules.rules(for: $0, kind) }, "\(language.name)")
            guard case .object(let categories) = language.value else { continue }
            #expect(
                read.categories.map { "pluralRule-count-\($0)" }
                    == PluralCategory.allCases.map { "pluralRule-count-\($0)" }.filter { language.value[$0] != nil })
            for category in categories {
                guard case .string(let rule) = category.value else { continue }
                for number in Self.numbers(in: rule) {
                    let operands = try #require(PluralOperands(number), "\(number)")
                    #expect(
                        "pluralRule-count-\(read.category(of: operands))" == category.name, "\(language.name) \(number)"
                    )
                    samples += 1
                }
            }
        }
        #expect(samples > 1_000)
    }

    /// The numbers after @integer and @decimal; for a range both ends, and the numbers in between if there are few.
    private static func numbers(in rule: String) -> [String] {
        rule.split(separator: "@").dropFirst().flatMap { group in
            group.drop { $0 != " " }.split(separator: ",").flatMap { sample -> [String] in
                let text = sample.filter { $0 != " " }
                guard text != "…", !text.isEmpty else { return [] }
                let ends = text.split(separator: "~").map(String.init)
                guard ends.count == 2, let first = Int(ends[0]), let last = Int(ends[1]) else { return ends }
                return (first...last).map(String.init)
            }
        }
    }

    @Test(
        "the category of a number depends on how it is written",
        arguments: [
            ("en", "1", PluralCategory.one), ("en", "1.0", .other), ("pl", "2", .few), ("pl", "5", .many),
            ("pl", "22", .few), ("pl", "1.5", .other),
            ("fr", "1.9", .one), ("fr", "1c6", .many), ("fr", "1.2c6", .many), ("ar", "0", .zero), ("ar", "-3", .few),
            ("pt", "0", .one), ("pt-PT", "0", .other),
            ("de-AT", "1", .one), ("zh-Hant-TW", "1", .other), ("lv", "0.11", .zero),
        ])
    func shown(language: String, number: String, category: PluralCategory) throws {
        let rules = try #require(LanguageTag(language).flatMap { PluralRules.rules(for: $0) })
        #expect(rules.category(of: try #require(PluralOperands(number))) == category)
    }

    @Test(
        "a text that is not a number has no form",
        arguments: ["", "x", "1.", ".5", "1e5", "1 ", "١", "1.2.3", "c6", "1234567890123456789", "1c99", "--1"])
    func noNumber(text: String) {
        #expect(PluralOperands(text) == nil)
    }

    @Test(
        "tags have one spelling, and are shortened without changing the script",
        arguments: [
            ("de-at", "de-AT", ["de"]), ("ZH-hant-tw", "zh-Hant-TW", ["zh-Hant"]), ("zh-Hant", "zh-Hant", []),
            ("es-419", "es-419", ["es"]), ("x", nil, []),
            ("", nil, []), ("de-", nil, []), ("de-toolongsubtag", nil, []), ("../en", nil, []), ("12", nil, []),
        ] as [(String, String?, [String])])
    func tags(text: String, tag: String?, parents: [String]) {
        #expect(LanguageTag(text)?.text == tag)
        #expect((LanguageTag(text)?.parents ?? []).map(\.text) == parents)
    }
}
