import MartletCore
import NIOCore

/// The texts of a space's live translations, as needed to check a definition.
struct LiveTranslations {
    /// A key that a translation lacks, either in all languages (nil) or in one.
    struct Gap: Equatable {
        let document: String
        let language: String?
    }

    fileprivate struct Document {
        let name: String
        /// The languages that require their own text.
        let languages: [String]
        /// The languages with a text, by key.
        let texts: [String: Set<String>]
    }

    private let documents: [Document]

    static let none = LiveTranslations(documents: [])

    /// - Parameter version: The minimum app version of the definition. Translations that only older app versions use
    ///   are ignored.
    init(in space: LiveSpace, from version: VersionNumber?) {
        let first = version.flatMap { space.translations(for: $0.text) }
        documents = space.documents(of: .translation).compactMap { live -> Document? in
            if let version, let own = VersionNumber(live.key.name), live !== first, own.sortKey < version.sortKey {
                return nil
            }
            guard let catalogue = try? JSONValue(parsing: live.content.readableBytesView) else { return nil }
            return Document(live.key.name, catalogue)
        }
    }

    private init(documents: [Document]) {
        self.documents = documents
    }

    var isEmpty: Bool { documents.isEmpty }

    func gaps(of key: String) -> [Gap] {
        documents.flatMap { document -> [Gap] in
            guard let texts = document.texts[key] else { return [Gap(document: document.name, language: nil)] }
            return document.languages.filter { !texts.contains($0) }.map { Gap(document: document.name, language: $0) }
        }
    }
}

extension LiveTranslations.Document {
    /// Reads a catalogue,
    /// `{"sourceLanguage","languages":{tag:{"published","fallback"}},"strings":{key:{"localizations":{tag:…}}}}`. The
    /// source language needs no texts, because the keys serve as texts, and neither does a language with a fallback.
    init(_ name: String, _ catalogue: JSONValue) {
        self.name = name
        var texts: [String: Set<String>] = [:]
        if case .object(let strings)? = catalogue["strings"] {
            for string in strings {
                guard case .object(let localizations)? = string.value["localizations"] else {
                    texts[string.name] = []
                    continue
                }
                texts[string.name] = Set(localizations.map(\.name))
            }
        }
        self.texts = texts
        var languages: [String] = []
        if case .object(let declared)? = catalogue["languages"] {
            languages = declared.filter { $0.value["published"] == .bool(true) && $0.value["fallback"] == nil }.map(
                \.name)
        }
        self.languages = languages.filter { catalogue["sourceLanguage"] != .string($0) }
    }
}
