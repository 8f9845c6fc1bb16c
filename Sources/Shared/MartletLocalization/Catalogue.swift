public import MartletCore

/// The texts of an app in all of its languages.
///
/// As JSON it is an Xcode string catalogue (.xcstrings) with one member more, `languages`: see `init(_:)`.
public struct Catalogue: Sendable, Equatable {
    /// A language that the app can be shown in.
    public struct Language: Sendable, Equatable {
        /// Whether clients get it.
        public var isPublished: Bool
        /// As its speakers call it.
        public var name: String?
        /// Where clients look for what it lacks, before the source language.
        public var fallback: LanguageTag?

        public init(isPublished: Bool, name: String? = nil, fallback: LanguageTag? = nil) {
            self.isPublished = isPublished
            self.name = name
            self.fallback = fallback
        }
    }

    public var sourceLanguage: LanguageTag
    public var languages: [LanguageTag: Language] = [:]
    /// In the order in which they were written.
    public private(set) var entries: [Entry] = []
    private var places: [String: Int] = [:]

    public init(sourceLanguage: LanguageTag) {
        self.sourceLanguage = sourceLanguage
    }

    /// The key's entry. A new one goes to the end; its `key` is the one that it is set for.
    public subscript(key: String) -> Entry? {
        get { places[key].map { entries[$0] } }
        set {
            guard var entry = newValue else { return remove(key) }
            entry.key = key
            if let place = places[key] {
                entries[place] = entry
            } else {
                places[key] = entries.count
                entries.append(entry)
            }
        }
    }

    private mutating func remove(_ key: String) {
        guard places[key] != nil else { return }
        entries.removeAll { $0.key == key }
        places = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.key, $0) })
    }

    /// Every language that is declared or has a text, and the source language.
    public var allLanguages: Set<LanguageTag> {
        entries.reduce(into: Set(languages.keys).union([sourceLanguage])) { $0.formUnion($1.localizations.keys) }
    }

    /// The languages that clients get. Where none is declared, as in a catalogue straight from Xcode, these are all.
    public var publishedLanguages: Set<LanguageTag> {
        languages.isEmpty ? allLanguages : Set(languages.filter(\.value.isPublished).keys)
    }
}

/// One key and its texts.
public struct Entry: Sendable, Equatable {
    public fileprivate(set) var key: String
    /// For the translator.
    public var comment: String?
    /// False: every language has the source language's text.
    public var shouldTranslate = true
    /// Xcode's: `manual`, `extracted_with_value`, `migrated`, `stale`.
    public var extractionState: String?
    /// The file that it came from, where that is known; XLIFF groups by it.
    public var origin: String?
    /// Whether the texts are XML fragments: Android's inline markup (`<b>…</b>`), written as they stand.
    public var isMarkup = false
    public var localizations: [LanguageTag: Localization] = [:]

    public init(_ key: String) {
        self.key = key
    }
}
