import MartletCore
import MartletHTTP
import MartletLocalization
import Synchronization

/// The tables that clients get from a catalogue, one per language, made on first use.
///
/// With 200 languages the tables are many times larger than the catalogue, because each contains every key. So at most
/// `maximumSizeInBytes` of them are kept.
final class TranslationTables: Sendable {
    static let maximumSizeInBytes = 4 << 20

    /// A language's table as JSON text.
    struct Table: Sendable {
        let language: LanguageTag
        let stored: StoredContent

        init(_ json: JSONValue, of language: LanguageTag) {
            self.language = language
            stored = StoredContent(Array(json.text.utf8))
        }

        /// Changes only with the content of this language.
        var tag: EntityTag { EntityTag(text: stored.sha256) }
    }

    private let catalogue: Catalogue
    private let published: Set<LanguageTag>
    /// The pseudo-locale's tag; nil if the catalogue has its own texts for it.
    private let pseudoLocale: LanguageTag?
    private let tables = Mutex<[LanguageTag: Table]>([:])

    init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
        published = catalogue.publishedLanguages
        let languages = catalogue.allLanguages
        pseudoLocale = LanguageTag(PseudoLocale.language).flatMap { languages.contains($0) ? nil : $0 }
    }

    /// The table for a language: its own, or that of the nearest parent that is published. Nil if there is none.
    ///
    /// - Parameter withPseudoLocale: Whether `en-XA` is one of the languages.
    func table(for language: LanguageTag, withPseudoLocale: Bool) -> Table? {
        let isPseudo = withPseudoLocale && language == pseudoLocale
        guard let found = isPseudo ? language : language.closest(in: published) else { return nil }
        if let known = tables.withLock({ $0[found] }) { return known }
        guard let json = isPseudo ? catalogue.pseudoTable() : catalogue.table(of: found) else { return nil }
        let made = Table(json, of: found)
        tables.withLock { tables in
            let size = tables.values.reduce(made.stored.sizeInBytes) { $0 + $1.stored.sizeInBytes }
            if size > Self.maximumSizeInBytes { tables.removeAll() }
            tables[found] = made
        }
        return made
    }
}
