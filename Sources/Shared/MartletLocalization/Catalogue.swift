public import MartletCore

/// The texts of an app in all of its languages.
///
/// Its JSON form is an Xcode string catalogue (.xcstrings) with an additional member, `languages`: see `init(_:)`.
public struct Catalogue: Sendable, Equatable {
    /// A language in which the app can be shown.
    public struct Language: Sendable, Equatable {
        /// Whether clients receive it.
        public var isPublished: Bool
        /// The language's name in the language itself.
        public var name: String?
        /// The language that supplies missing texts to clients, before the source language does.
        public var fallback: LanguageTag?

        public init(isPublished: Bool, name: String? = nil, fallback: LanguageTag? = nil) {
            self.isPublished = isPublished
            self.name = name
            self.fallback = fallback
        }
    }

    public var sourceLanguage: LanguageTag
    public var languages: [LanguageTag: Language] = [:]
    /// In insertion order.
    public private(set) var entries: [Entry] = []
    private var indexByKey: [String: Int] = [:]

    public init(sourceLanguage: LanguageTag) {
        self.sourceLanguage = sourceLanguage
    }

    /// The key's entry. Setting a new one appends it; its `key` is replaced by the subscript.
    public subscript(key: String) -> Entry? {
        get { indexByKey[key].map { entries[$0] } }
        set {
            guard var entry = newValue else { return remove(key) }
            entry.key = key
            if let index = indexByKey[key] {
                entries[index] = entry
            } else {
                indexByKey[key] = entries.count
                entries.append(entry)
            }
        }
    }

    private mutating func remove(_ key: String) {
        guard indexByKey[key] != nil else { return }
        entries.removeAll { $0.key == key }
        indexByKey = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.key, $0) })
    }

    /// All languages that are declared or have a text, including the source language.
    public var allLanguages: Set<LanguageTag> {
        entries.reduce(into: Set(languages.keys).union([sourceLanguage])) { $0.formUnion($1.localizations.keys) }
    }

    /// The languages that clients receive: all of them if none is declared, as in a catalogue straight from Xcode.
    public var publishedLanguages: Set<LanguageTag> {
        languages.isEmpty ? allLanguages : Set(languages.filter(\.value.isPublished).keys)
    }
}

/// A key with its texts.
public struct Entry: Sendable, Equatable {
    public fileprivate(set) var key: String
    /// A comment for translators.
    public var comment: String?
    /// If false, every language uses the source language's text.
    public var shouldTranslate = true
    /// Xcode's extraction state: `manual`, `extracted_with_value`, `migrated`, `stale`.
    public var extractionState: String?
    /// The file in which the key was found, if known. XLIFF groups by it.
    public var origin: String?
    /// Whether the texts are XML fragments with Android's inline markup (`<b>…</b>`), which are written unchanged.
    public var isMarkup = false
    public var localizations: [LanguageTag: Localization] = [:]

    public init(_ key: String) {
        self.key = key
    }
}
