public import MartletCore

/// How much of a catalogue is translated into a language.
public struct Coverage: Sendable, Equatable {
    public let language: LanguageTag
    /// Keys to be translated.
    public let keys: Int
    /// Keys without a usable text in the language itself.
    public let missing: Int
    /// Keys with a usable text that needs review.
    public let needsReview: Int
}

extension Catalogue {
    /// The coverage of every language, sorted by tag. The source language has no missing keys, because a key without a
    /// text is its own text.
    public var coverage: [Coverage] {
        let entries = entries.filter(\.shouldTranslate)
        return allLanguages.sorted().map { language in
            let states = entries.map { state(of: $0, in: language) }
            return Coverage(
                language: language, keys: entries.count, missing: states.count { $0 == .new },
                needsReview: states.count { $0 == .needsReview })
        }
    }

    /// The least complete state among a key's texts in a language: `new` if clients would get none of them.
    public func state(of entry: Entry, in language: LanguageTag) -> Unit.State {
        guard entry.shouldTranslate else { return .translated }
        guard let localization = entry.localizations[language] else {
            return language == sourceLanguage ? .translated : .new
        }
        guard localization.usable != nil else { return .new }
        return localization.units().contains { $0.unit.state == .needsReview } ? .needsReview : .translated
    }
}
