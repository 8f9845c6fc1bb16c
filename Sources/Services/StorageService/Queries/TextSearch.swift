import MartletAPI
import MartletCore
import MartletPostgres

/// `$text`: `{"$search":"bread butter"}` or `{"$search":{"$term","$language","$caseSensitive","$diacriticSensitive"}}`.
///
/// The term has the syntax of web searches: all words must occur, `"a phrase"`, `or`, `-not`. Words are compared by
/// their stems in the language and without regard to case; diacritics count.
struct TextSearch {
    static let defaultLanguage = "english"
    static let maximumTermInBytes = 1_000

    private let term: String
    private let language: PostgresLiteral
    private let isCaseSensitive: Bool

    /// The languages supported by PostgreSQL, with their ISO 639-1 codes.
    static let languages: [String: String] = [
        "simple": "simple", "none": "simple", "ar": "arabic", "arabic": "arabic", "da": "danish", "danish": "danish",
        "nl": "dutch",
        "dutch": "dutch", "en": "english", "english": "english", "fi": "finnish", "finnish": "finnish", "fr": "french",
        "french": "french",
        "de": "german", "german": "german", "el": "greek", "greek": "greek", "hu": "hungarian",
        "hungarian": "hungarian",
        "id": "indonesian", "indonesian": "indonesian", "ga": "irish", "irish": "irish", "it": "italian",
        "italian": "italian",
        "lt": "lithuanian", "lithuanian": "lithuanian", "ne": "nepali", "nepali": "nepali", "nb": "norwegian",
        "no": "norwegian",
        "norwegian": "norwegian", "pt": "portuguese", "portuguese": "portuguese", "ro": "romanian",
        "romanian": "romanian",
        "ru": "russian", "russian": "russian", "es": "spanish", "spanish": "spanish", "sv": "swedish",
        "swedish": "swedish",
        "ta": "tamil", "tamil": "tamil", "tr": "turkish", "turkish": "turkish",
    ]

    /// - Throws: `invalid-filter`, `limit-exceeded`.
    init(_ value: JSONValue, field: String) throws {
        func refusal(_ detail: String) -> ServiceError { ServiceError(.invalidFilter, detail, field: field) }
        guard case .object(let outer) = value, outer.contains(where: { $0.name == "$search" }) else {
            throw refusal("$text requires a \"$search\".")
        }
        var options = outer.filter { $0.name != "$search" }
        switch value["$search"] {
        case .string(let text): term = text
        case .object(let inner):
            guard case .string(let text) = value["$search"]?["$term"] else {
                throw refusal("$search requires a \"$term\", a string.")
            }
            term = text
            options += inner.filter { $0.name != "$term" }
        default: throw refusal("$search must be a string, or an object with a \"$term\".")
        }
        guard !term.isEmpty, term.utf8.count <= Self.maximumTermInBytes else {
            throw ServiceError(
                .limitExceeded, "A search must have 1 to \(Self.maximumTermInBytes) bytes.", field: field)
        }
        var name = Self.defaultLanguage
        var isCaseSensitive = false
        for option in options {
            switch (option.name, option.value) {
            case ("$language", .string(let language)): name = language
            case ("$caseSensitive", .bool(let flag)): isCaseSensitive = flag
            case ("$diacriticSensitive", .bool(true)): break
            case ("$diacriticSensitive", .bool(false)):
                throw refusal("Diacritics always count: $diacriticSensitive can only be true.")
            default:
                throw refusal(
                    "$text supports $language, $caseSensitive (true or false) and $diacriticSensitive (true).")
            }
        }
        language = try Self.literal(name, field: field)
        self.isCaseSensitive = isCaseSensitive
    }

    /// - Throws: `invalid-filter` for an unknown language.
    static func literal(_ language: String, field: String) throws -> PostgresLiteral {
        guard let name = languages[language.lowercased()], let literal = PostgresLiteral("pg_catalog." + name) else {
            throw ServiceError(
                .invalidFilter, "Expected a language that PostgreSQL supports, found \(JSONValue.excerpt(language)).",
                field: field)
        }
        return literal
    }

    /// Constant text, so that indexes on the same expression can be used.
    static func words(_ value: PostgresQuery, _ language: PostgresLiteral) -> PostgresQuery {
        "storage.words(\(language)::regconfig, \(value))"
    }

    func condition(on value: PostgresQuery) -> PostgresQuery {
        let found: PostgresQuery =
            "\(Self.words(value, language)) @@ websearch_to_tsquery(\(language)::regconfig, \(term))"
        guard isCaseSensitive else { return found }
        let words = term.split { !$0.isLetter && !$0.isNumber }.prefix(20).filter { $0.lowercased() != "or" }
        return ([found] + words.map { "strpos((\(value))::text, \(String($0))) > 0" }).joined(separator: " AND ")
    }
}
