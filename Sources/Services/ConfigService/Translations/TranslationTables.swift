import MartletCore
import MartletHTTP
import MartletLocalization
import Synchronization

/// What clients get of a catalogue: a table for each language, made when it is first asked for.
///
/// With 200 languages the tables are many times the catalogue, for each has every key. So only `maximumSizeInBytes` of
/// them are kept.
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

        /// Changes with the content of this language alone.
        var tag: EntityTag { EntityTag(text: stored.sha256) }
    }

    private let catalogue: Catalogue
    private let published: Set<LanguageTag>
    /// The pseudo-locale's tag, unless the catalogue has texts of its own for it.
    private let pseudoLocale: LanguageTag?
    private let tables = Mutex<[LanguageTag: Table]>([:])

    init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
        published = catalogue.publishedLanguages
        let languages = catalogue.allLanguages
        pseudoLocale = LanguageTag(PseudoLocale.language).flatMap { languages.contains($0) ? nil : $0 }
    }

    /// The table for a reader of a language: that language's, or its next parent's that is published. Nil: there is
    /// none.
    ///
    /// - Parameter withPseudoLocale: whether `en-XA` is one of the languages.
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
