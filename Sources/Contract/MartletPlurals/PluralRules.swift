import Foundation

/// The plural categories of nouns and number words, in CLDR's order.
public enum PluralCategory: String, CaseIterable, Comparable, Sendable {
    case zero, one, two, few, many, other

    public static func < (left: PluralCategory, right: PluralCategory) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

/// The rules by which a language chooses the plural category of a number: CLDR 47.
public struct PluralRules: Sendable {
    /// The kind of number: `cardinal` as in 3 days, `ordinal` as in the 3rd day.
    public enum Kind: Sendable {
        case cardinal, ordinal
    }

    /// The categories that the language distinguishes, in CLDR's order; always includes `other`.
    public let categories: [PluralCategory]
    private let conditions: [(category: PluralCategory, condition: PluralCondition)]

    /// The rules of a language, or of the longest prefix of its tag that has rules (`de-AT` → `de`). Nil if CLDR has
    /// none.
    public static func rules(for language: String, _ kind: Kind = .cardinal) -> PluralRules? {
        let rules = kind == .cardinal ? cardinal : ordinal
        let parts = language.split(separator: "-")
        return (0..<parts.count).lazy.compactMap { rules[parts.dropLast($0).joined(separator: "-")] }.first
    }

    public func category(of number: PluralOperands) -> PluralCategory {
        conditions.first { $0.condition.holds(for: number) }?.category ?? .other
    }

    private static let cardinal = read(PluralTable.cardinal)
    private static let ordinal = read(PluralTable.ordinal)

    private static func read(_ table: [(languages: String, rules: String)]) -> [String: PluralRules] {
        var rules: [String: PluralRules] = [:]
        for row in table {
            let read = PluralRules(row.rules)
            for language in row.languages.split(whereSeparator: \.isWhitespace) { rules[String(language)] = read }
        }
        return rules
    }

    private init(_ text: String) {
        var conditions: [(category: PluralCategory, condition: PluralCondition)] = []
        for rule in text.split(separator: "\n") {
            let halves = rule.components(separatedBy: ": ")
            guard halves.count == 2, let category = PluralCategory(rawValue: halves[0]),
                let condition = PluralCondition(halves[1])
            else { continue }
            conditions.append((category, condition))
        }
        self.conditions = conditions
        categories = PluralCategory.allCases.filter { category in
            category == .other || conditions.contains { $0.category == category }
        }
    }
}
