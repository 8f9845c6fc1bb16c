public import MartletCore

/// How far a language is.
public struct Coverage: Sendable, Equatable {
    public let language: LanguageTag
    /// Keys that are to be translated.
    public let keys: Int
    /// Of those, without a usable text of the language's own.
    public let missing: Int
    /// Of those with one, with a text that needs review.
    public let needsReview: Int
}

extension Catalogue {
    /// Of every language, in the order of their tags. The source language lacks nothing: its keys stand for themselves.
    public var coverage: [Coverage] {
        let entries = entries.filter(\.shouldTranslate)
        return allLanguages.sorted().map { language in
            let states = entries.map { state(of: $0, in: language) }
            return Coverage(
                language: language, keys: entries.count, missing: states.count { $0 == .new },
                needsReview: states.count { $0 == .needsReview })
        }
    }

    /// The least of the states of a key's texts in a language: `new` where there is none that clients would get.
    public func state(of entry: Entry, in language: LanguageTag) -> Unit.State {
        guard entry.shouldTranslate else { return .translated }
        guard let localization = entry.localizations[language] else {
            return language == sourceLanguage ? .translated : .new
        }
        guard localization.usable != nil else { return .new }
        return localization.units().contains { $0.unit.state == .needsReview } ? .needsReview : .translated
    }
}
