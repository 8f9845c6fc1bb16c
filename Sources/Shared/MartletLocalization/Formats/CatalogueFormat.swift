public import MartletCore

/// A file format for import and export of texts.
public enum CatalogueFormat: String, CaseIterable, Sendable {
    /// Xcode's string catalogue: every language, without loss.
    case xcstrings
    /// Apple's .strings: one language, texts without forms.
    case strings
    /// Apple's .stringsdict: one language, texts with forms.
    case stringsdict
    /// XLIFF 1.2 as written by Xcode: the source language and one other, with states.
    case xliff
    /// Android's strings.xml: one language.
    case android
    /// An object of keys and texts: one language. Forms have their own keys, as in `UnitPath`.
    case json
    /// Keys, comments and states; one language or all.
    case csv

    /// Options for reading and writing a file.
    public struct Options: Sendable {
        /// The language of the file. Required except for .xcstrings and CSV; XLIFF files name their own.
        public var language: LanguageTag?
        public var sourceLanguage: LanguageTag
        /// The placeholder style of JSON files. Android's files always use Android's, all others Apple's.
        public var placeholders = PlaceholderStyle.apple
        /// The encoding for writing .strings.
        public var encoding = TextEncoding.utf8

        public init(language: LanguageTag?, sourceLanguage: LanguageTag) {
            self.language = language
            self.sourceLanguage = sourceLanguage
        }

        func requiredLanguage() throws -> LanguageTag {
            guard let language else { throw LocalizationFault("language", "This format needs a language.") }
            return language
        }
    }

    /// An exported file, and the keys that it cannot represent.
    public struct Export: Sendable {
        public var bytes: [UInt8]
        /// The keys that were left out, each with the reason.
        public var skipped: [LocalizationFault] = []
    }

    public var contentType: String {
        switch self {
        case .xcstrings, .json: "application/json; charset=utf-8"
        case .strings: "text/plain"
        case .stringsdict, .android: "application/xml; charset=utf-8"
        case .xliff: "application/xliff+xml; charset=utf-8"
        case .csv: "text/csv; charset=utf-8; header=present"
        }
    }

    public var fileExtension: String {
        switch self {
        case .android: "xml"
        default: rawValue
        }
    }

    /// Parses the texts of a file. The result declares no languages: the catalogue into which it is merged decides what
    /// clients receive.
    ///
    /// - Throws: `LocalizationFault` naming the line or the key.
    public func read(_ bytes: [UInt8], _ options: Options) throws -> Catalogue {
        let catalogue =
            switch self {
            case .xcstrings: try XCStringsFile.read(bytes)
            case .strings: try StringsFile.read(bytes, options)
            case .stringsdict: try StringsDictFile.read(bytes, options)
            case .xliff: try XLIFFFile.read(bytes, options)
            case .android: try AndroidFile.read(bytes, options)
            case .json: try FlatJSONFile.read(bytes, options)
            case .csv: try CSVFile.read(bytes, options)
            }
        // Applies the limits and checks of catalogues in JSON to files, too.
        return try Catalogue(catalogue.json())
    }

    /// - Throws: `LocalizationFault` when a language is missing.
    public func write(_ catalogue: Catalogue, _ options: Options) throws -> Export {
        switch self {
        case .xcstrings: XCStringsFile.write(catalogue)
        case .strings: try StringsFile.write(catalogue, options)
        case .stringsdict: try StringsDictFile.write(catalogue, options)
        case .xliff: try XLIFFFile.write(catalogue, options)
        case .android: try AndroidFile.write(catalogue, options)
        case .json: try FlatJSONFile.write(catalogue, options)
        case .csv: CSVFile.write(catalogue, options)
        }
    }
}

/// Xcode's string catalogue.
enum XCStringsFile {
    static func read(_ bytes: [UInt8]) throws -> Catalogue {
        try Catalogue(try parsed(bytes))
    }

    static func write(_ catalogue: Catalogue) -> CatalogueFormat.Export {
        .init(bytes: Array(catalogue.json(isForXcode: true).text.utf8))
    }

    static func parsed(_ bytes: [UInt8]) throws -> JSONValue {
        do {
            return try JSONValue(parsing: try TextEncoding.text(of: bytes).utf8)
        } catch let error as JSONError {
            throw LocalizationFault("", "The file cannot be read: \(error)")
        }
    }
}
