import MartletCore

struct FirebaseExpressionError: Error, Equatable {
    let message: String

    init(_ message: String) { self.message = message }
}

/// Converts a template's condition, such as `device.os == 'ios' && percent('rollout') <= 10`, to a Martlet condition
/// (firebase.google.com/docs/remote-config/condition-reference).
struct FirebaseExpression {
    enum Token: Equatable {
        case word(String)
        case text(String)
        case number(String)
        /// `==`, `&&`, `(`, `.` and the like.
        case sign(String)
    }

    static let maximumLength = 20_000

    private let tokens: [Token]
    private var position = 0

    init(_ text: String) throws(FirebaseExpressionError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw FirebaseExpressionError("The expression is too long.")
        }
        tokens = try FirebaseTokenizer(text).tokens()
    }

    mutating func parse() throws(FirebaseExpressionError) -> JSONValue {
        var elements = [try element()]
        while take(.sign("&&")) { elements.append(try element()) }
        if let next { throw FirebaseExpressionError("Expected && between elements, found \(next.description).") }
        return elements.count == 1 ? elements[0] : .object([.init("$and", .array(elements))])
    }

    var next: Token? { position < tokens.count ? tokens[position] : nil }

    mutating func take(_ token: Token) -> Bool {
        guard next == token else { return false }
        position += 1
        return true
    }

    mutating func expect(_ sign: String) throws(FirebaseExpressionError) {
        guard take(.sign(sign)) else {
            throw FirebaseExpressionError("Expected \(sign) before \(next?.description ?? "the end").")
        }
    }

    mutating func word() throws(FirebaseExpressionError) -> String {
        guard case .word(let word)? = next else {
            throw FirebaseExpressionError("Expected a name before \(next?.description ?? "the end").")
        }
        position += 1
        return word
    }

    mutating func number() throws(FirebaseExpressionError) -> String {
        guard case .number(let literal)? = next else {
            throw FirebaseExpressionError("Expected a number before \(next?.description ?? "the end").")
        }
        position += 1
        return literal
    }

    /// Parses a string or number.
    mutating func literal() throws(FirebaseExpressionError) -> JSONValue {
        switch next {
        case .text(let text):
            position += 1
            return .string(text)
        case .number(let literal):
            position += 1
            return .number(literal)
        default: throw FirebaseExpressionError("Expected a value before \(next?.description ?? "the end").")
        }
    }

    mutating func text() throws(FirebaseExpressionError) -> String {
        guard case .string(let text) = try literal() else {
            throw FirebaseExpressionError("Expected a quoted string.")
        }
        return text
    }

    /// Parses `['a', 'b']`.
    mutating func list() throws(FirebaseExpressionError) -> [JSONValue] {
        try expect("[")
        var values: [JSONValue] = []
        while !take(.sign("]")) {
            values.append(try literal())
            if next != .sign("]") { try expect(",") }
        }
        return values
    }

    /// Parses `==`, `<=` and the like.
    mutating func comparison() throws(FirebaseExpressionError) -> String {
        for sign in ["==", "!=", "<=", ">=", "<", ">"] where take(.sign(sign)) { return sign }
        throw FirebaseExpressionError("Expected a comparison before \(next?.description ?? "the end").")
    }
}

extension FirebaseExpression.Token {
    var description: String {
        switch self {
        case .word(let text), .number(let text), .sign(let text): text
        case .text(let text): "'\(text)'"
        }
    }
}

/// Splits an expression into tokens.
private struct FirebaseTokenizer {
    private let scalars: [Unicode.Scalar]
    private var position = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    func tokens() throws(FirebaseExpressionError) -> [FirebaseExpression.Token] {
        var copy = self
        var tokens: [FirebaseExpression.Token] = []
        while let token = try copy.token() { tokens.append(token) }
        return tokens
    }

    private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func token() throws(FirebaseExpressionError) -> FirebaseExpression.Token? {
        while let scalar = next, scalar.properties.isWhitespace { position += 1 }
        guard let scalar = next else { return nil }
        if scalar == "'" || scalar == "\"" { return .text(try text(scalar)) }
        if ("0"..."9").contains(scalar) || (scalar == "-" && isDigit(position + 1)) {
            return .number(takeWhile { ("0"..."9").contains($0) || $0 == "." || $0 == "-" })
        }
        if scalar.properties.isAlphabetic || scalar == "_" {
            return .word(takeWhile { $0.properties.isAlphabetic || $0 == "_" || ("0"..."9").contains($0) })
        }
        for sign in ["&&", "||", "==", "!=", "<=", ">="]
        where scalars[position...].prefix(2).elementsEqual(sign.unicodeScalars) {
            position += 2
            return .sign(sign)
        }
        position += 1
        return .sign(String(scalar))
    }

    private func isDigit(_ index: Int) -> Bool { index < scalars.count && ("0"..."9").contains(scalars[index]) }

    private mutating func takeWhile(_ isWanted: (Unicode.Scalar) -> Bool) -> String {
        var text = ""
        while let scalar = next, isWanted(scalar) {
            text.unicodeScalars.append(scalar)
            position += 1
        }
        return text
    }

    private mutating func text(_ quote: Unicode.Scalar) throws(FirebaseExpressionError) -> String {
        var text = ""
        position += 1
        while let scalar = next {
            position += 1
            if scalar == quote { return text }
            if scalar == "\\", let escaped = next {
                // Before any other character, as in a regular expression's \d, the backslash is kept.
                if escaped != quote, escaped != "\\" { text.unicodeScalars.append(scalar) }
                text.unicodeScalars.append(escaped)
                position += 1
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        throw FirebaseExpressionError("A quoted string is not closed.")
    }
}
