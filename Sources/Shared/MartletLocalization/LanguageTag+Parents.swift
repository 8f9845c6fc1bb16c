public import MartletCore
public import MartletPlurals

extension LanguageTag: Comparable, CustomStringConvertible {
    /// The tag's prefixes, longest first: `zh-Hant`, then `zh` for `zh-Hant-TW` (RFC 4647, 3.4).
    public var truncations: [LanguageTag] {
        let parts = text.components(between: "-")
        return (1..<max(parts.count, 1)).reversed().compactMap { LanguageTag(parts.prefix($0).joined(separator: "-")) }
    }

    /// The truncations whose texts a reader of this language can read. A different script is a different language to
    /// readers, so `zh-Hant` has none (CLDR's parentLocales).
    public var parents: [LanguageTag] {
        guard hasScript else { return truncations }
        return truncations.filter(\.hasScript)
    }

    /// The best match among these languages: the language itself or its nearest parent; nil if there is none.
    public func closest(in languages: Set<LanguageTag>) -> LanguageTag? {
        ([self] + parents).first { languages.contains($0) }
    }

    private var hasScript: Bool {
        text.components(between: "-").dropFirst().contains { $0.utf8.count == 4 && $0.utf8.allSatisfy { $0 > 0x39 } }
    }

    public var description: String { text }

    public static func < (left: LanguageTag, right: LanguageTag) -> Bool { left.text < right.text }
}

extension PluralRules {
    /// The rules of a language, or of the longest prefix of its tag that has rules (`de-AT` → `de`). Nil if CLDR has
    /// none.
    public static func rules(for language: LanguageTag, _ kind: Kind = .cardinal) -> PluralRules? {
        rules(for: language.text, kind)
    }
}

extension StringProtocol {
    /// The parts between separators, including empty ones.
    func components(between separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
    }
}
