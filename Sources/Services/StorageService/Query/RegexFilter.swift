import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `{"field":{"$regex":"^ab","$options":"i"}}`: a POSIX advanced regular expression of PostgreSQL on a string field.
///
/// Options: `i` case, `m` lines, `s` dot matches line ends (it does anyway without `m`), `x` blanks are ignored. `\\Q…\\E` quotes. A
/// pattern that takes too long ends by the statement time-out.
enum RegexFilter {
    static let maximumLengthInBytes = 256

    /// - Throws: `invalid-filter`.
    static func options(_ operators: JSONValue, field: String) throws -> String {
        guard let options = operators["$options"] else { return "" }
        guard case .string(let text) = options, operators["$regex"] != nil, Set("imsx").isSuperset(of: text), text.count <= 4 else {
            throw HTTPProblem(.invalidFilter, "$options goes with $regex and is made of i, m, s and x.", field: field)
        }
        return text
    }

    /// - Throws: `invalid-filter`, `limit-exceeded`.
    static func condition(_ value: JSONValue, options: String, on target: Target) throws -> PostgresQuery {
        guard case .string(let pattern) = value, !pattern.utf8.contains(0) else {
            throw HTTPProblem(.invalidFilter, "$regex takes a string.", field: target.name)
        }
        guard pattern.utf8.count <= maximumLengthInBytes else {
            throw HTTPProblem(.limitExceeded, "$regex takes at most \(maximumLengthInBytes) bytes.", field: target.name)
        }
        let text: PostgresQuery =
            switch target {
            case .system(.id): "id"
            case .system: throw HTTPProblem(.invalidFilter, "This field is no string.", field: target.name)
            case .document: "(CASE jsonb_typeof(\(target.expression)) WHEN 'string' THEN \(target.expression) #>> '{}' END)"
            }
        // Options in front of an advanced regular expression (PostgreSQL 9.7.3.4); without m, ^ and $ are the text's ends alone.
        var embedded = options.contains("i") ? "i" : ""
        embedded += options.contains("m") ? (options.contains("s") ? "w" : "n") : "s"
        if options.contains("x") { embedded += "x" }
        return "\(text) ~ \("(?\(embedded))" + unquoted(pattern))"
    }

    /// The pattern with `\\Q…\\E` written as escapes.
    static func unquoted(_ pattern: String) -> String {
        var result = ""
        var rest = pattern[...]
        while let start = rest.firstRange(of: "\\Q") {
            result += rest[..<start.lowerBound]
            rest = rest[start.upperBound...]
            let end = rest.firstRange(of: "\\E")
            for character in rest[..<(end?.lowerBound ?? rest.endIndex)] {
                if character.isASCII, !character.isLetter, !character.isNumber { result += "\\" }
                result.append(character)
            }
            rest = end.map { rest[$0.upperBound...] } ?? ""
        }
        return result + rest
    }
}
