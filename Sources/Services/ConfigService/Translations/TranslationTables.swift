import MartletCore
import MartletHTTP
import MartletLocalization
import NIOCore
import Synchronization

/// What clients get of a catalogue: a table for each language, made when it is first asked for.
///
/// With 200 languages the tables are many times the catalogue, for each has every key. So only `maximumSizeInBytes` of them are kept.
final class TranslationTables: Sendable {
    static let maximumSizeInBytes = 64 << 20

    /// A language's table as JSON text.
    struct Table: Sendable {
        let language: LanguageTag
        let content: ByteBuffer
        /// Nil where that gains nothing.
        let gzip: ByteBuffer?
        /// Changes with the content of this language alone.
        let tag: EntityTag

        init(_ json: JSONValue, of language: LanguageTag) {
            let text = json.text
            self.language = language
            content = ByteBuffer(string: text)
            gzip = Gzip.compress(Array(text.utf8)).map { ByteBuffer(bytes: $0) }
            tag = EntityTag(text: Credential.hexDigest(of: text))
        }

        var sizeInBytes: Int { content.readableBytes + (gzip?.readableBytes ?? 0) }
    }

    let catalogue: Catalogue
    private let tables = Mutex<[LanguageTag: Table]>([:])

    init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
    }

    /// The table for a reader of a language: that language's, or its next parent's that is published. Nil: there is none.
    ///
    /// - Parameter withPseudoLocale: whether `en-XA` may be had although nobody has published it.
    func table(for language: LanguageTag, withPseudoLocale: Bool) -> Table? {
        let isPseudo = language.text == PseudoLocale.language && catalogue.allLanguages.contains(language) == false
        guard let found = isPseudo && withPseudoLocale ? language : catalogue.published(for: language) else { return nil }
        if let known = tables.withLock({ $0[found] }) { return known }
        let json = found.text == PseudoLocale.language && isPseudo ? catalogue.pseudoTable() : catalogue.table(of: found)
        guard let json else { return nil }
        let made = Table(json, of: found)
        tables.withLock { tables in
            let size = tables.values.reduce(made.sizeInBytes) { $0 + $1.sizeInBytes }
            if size > Self.maximumSizeInBytes { tables.removeAll() }
            tables[found] = made
        }
        return made
    }
}
