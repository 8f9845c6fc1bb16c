/// Apple's .strings: `/* comment */ "key" = "text";`
enum StringsFile {
    static func read(_ bytes: [UInt8], _ options: CatalogueFormat.Options) throws -> Catalogue {
        let language = try options.requiredLanguage()
        var catalogue = Catalogue(sourceLanguage: options.sourceLanguage)
        var reader = StringsReader(try TextEncoding.text(of: bytes))
        for pair in try reader.pairs() {
            guard catalogue[pair.key] == nil else {
                throw LocalizationFault("line \(pair.line)", "The key \"\(pair.key.prefix(128))\" occurs twice.")
            }
            var entry = Entry(pair.key)
            entry.comment = pair.comment
            entry.localizations[language] = Localization(.unit(Unit(pair.value)))
            catalogue[pair.key] = entry
        }
        return catalogue
    }

    static func write(_ catalogue: Catalogue, _ options: CatalogueFormat.Options) throws -> CatalogueFormat.Export {
        let language = try options.requiredLanguage()
        var text = ""
        var skipped: [LocalizationFault] = []
        for entry in catalogue.entries {
            guard let localization = entry.localizations[language] else { continue }
            guard case .unit(let unit) = localization.text, localization.substitutions.isEmpty else {
                skipped.append(
                    LocalizationFault(entry.key, "The text has forms, which are exported in the .stringsdict file."))
                continue
            }
            guard unit.state != .new else { continue }
            if let comment = entry.comment { text += "/* \(escapedComment(comment)) */\n" }
            text += "\(quoted(entry.key)) = \(quoted(unit.value));\n\n"
        }
        return .init(bytes: options.encoding.bytes(of: text), skipped: skipped)
    }

    /// Escapes `*/`, which would end the comment, with a backslash.
    private static func escapedComment(_ text: String) -> String {
        var isAfterStar = false
        return text.escaping { scalar in
            defer { isAfterStar = scalar == "*" }
            return scalar == "/" && isAfterStar ? "\\/" : nil
        }
    }

    private static func quoted(_ text: String) -> String {
        let inner = text.escaping { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case "\u{0}"..<"\u{20}", "\u{7f}": "\\U" + scalar.hexDigits
            default: nil
            }
        }
        return "\"" + inner + "\""
    }
}

/// Parses .strings files, which are old-style property lists.
private struct StringsReader {
    struct Pair {
        var key: String
        var value: String
        var comment: String?
        var line: Int
    }

    private var rest: Substring.UnicodeScalarView
    private var line = 1
    /// Comments since the previous pair.
    private var comments: [String] = []

    init(_ text: String) {
        rest = text[...].unicodeScalars
    }

    mutating func pairs() throws -> [Pair] {
        var pairs: [Pair] = []
        while true {
            let endLine = line
            try skipBlanks(to: pairs.isEmpty ? nil : endLine, &pairs)
            guard rest.first != nil else { return pairs }
            let line = line
            let key = try string()
            try skipBlanks()
            var value = key
            if take("=") {
                try skipBlanks()
                value = try string()
                try skipBlanks()
            }
            guard take(";") else { throw fault("A ; is missing.") }
            pairs.append(
                Pair(
                    key: key, value: value, comment: comments.isEmpty ? nil : comments.joined(separator: "\n"),
                    line: line))
            comments = []
            guard pairs.count <= LocalizationLimits.keys else {
                throw fault("There may be at most \(LocalizationLimits.keys) keys.")
            }
        }
    }

    private func fault(_ reason: String) -> LocalizationFault { LocalizationFault("line \(line)", reason) }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        advance()
        return true
    }

    @discardableResult
    private mutating func advance() -> Unicode.Scalar? {
        let scalar = rest.popFirst()
        if scalar == "\n" { line += 1 }
        return scalar
    }

    private mutating func skipBlanks() throws {
        var none: [Pair] = []
        try skipBlanks(to: nil, &none)
    }

    /// Skips whitespace and comments. A comment on the line of the previous pair belongs to that pair.
    private mutating func skipBlanks(to lineOfPair: Int?, _ pairs: inout [Pair]) throws {
        while let scalar = rest.first {
            if scalar == "/" {
                let line = line
                let text = try comment()
                if line == lineOfPair, let last = pairs.indices.last {
                    guard pairs[last].comment?.utf8.count ?? 0 <= LocalizationLimits.commentSizeInBytes else {
                        throw LocalizationFault("line \(line)", "The comment is too long.")
                    }
                    pairs[last].comment = [pairs[last].comment, text].compactMap(\.self).joined(separator: "\n")
                } else {
                    comments.append(text)
                }
            } else if scalar.properties.isWhitespace {
                advance()
            } else {
                return
            }
        }
    }

    private mutating func comment() throws -> String {
        advance()
        var text = String.UnicodeScalarView()
        if take("/") {
            // As in C, a backslash at the end of a line continues the comment.
            while let scalar = rest.first, (scalar != "\n" && scalar != "\r") || text.last == "\\" {
                text.append(scalar)
                advance()
            }
        } else if take("*") {
            while true {
                guard let scalar = advance() else { throw fault("A comment is not closed.") }
                if scalar == "*", take("/") { break }
                // The escape that `escapedComment` writes for `*/`.
                if scalar == "\\", text.last == "*", rest.first == "/" { continue }
                text.append(scalar)
            }
        } else {
            throw fault("Expected a comment after /.")
        }
        return String(text).trimmed
    }

    private mutating func string() throws -> String {
        guard take("\"") else { return try word() }
        var text = String.UnicodeScalarView()
        while let scalar = advance() {
            switch scalar {
            case "\"": return String(text)
            case "\\": text.append(contentsOf: try escape().unicodeScalars)
            default: text.append(scalar)
            }
        }
        throw fault("A string is not closed.")
    }

    private mutating func word() throws -> String {
        var text = String.UnicodeScalarView()
        while let scalar = rest.first, scalar.isASCII,
            scalar.properties.isAlphabetic || "0123456789_.-$/:".unicodeScalars.contains(scalar)
        {
            text.append(scalar)
            advance()
        }
        guard !text.isEmpty else { throw fault("A key or text is missing.") }
        return String(text)
    }

    /// Reads an escape after its backslash.
    private mutating func escape() throws -> String {
        guard let scalar = advance() else { throw fault("A string is not closed.") }
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "a": return "\u{7}"
        case "b": return "\u{8}"
        case "f": return "\u{c}"
        case "v": return "\u{b}"
        case "U", "u": return try characters()
        case "0"..."7":
            var digits = String(scalar)
            while digits.utf8.count < 3, let digit = rest.first, ("0"..."7").contains(digit) {
                digits.unicodeScalars.append(digit)
                advance()
            }
            guard let value = UInt8(digits, radix: 8), value < 0x80 else {
                throw fault("The escape \\\(digits) is not ASCII; write the character itself.")
            }
            return String(UnicodeScalar(value))
        default: return String(scalar)
        }
    }

    /// Reads consecutive UTF-16 code units: `\Ud83d\Ude00` is one character.
    private mutating func characters() throws -> String {
        var units = [try codeUnit()]
        while UTF16.isLeadSurrogate(units[units.count - 1]), take("\\") {
            guard take("U") || take("u") else { break }
            units.append(try codeUnit())
        }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw fault("A surrogate pair is incomplete.")
        }
        return text
    }

    private mutating func codeUnit() throws -> UInt16 {
        let digits = String(String.UnicodeScalarView(rest.prefix(4)))
        guard digits.utf8.count == 4, let unit = UInt16(digits, radix: 16) else {
            throw fault("The escape \\U needs four hexadecimal digits.")
        }
        rest = rest.dropFirst(4)
        return unit
    }
}

extension StringProtocol {
    /// Without whitespace and line breaks at either end.
    var trimmed: String {
        let scalars = unicodeScalars.drop { $0.properties.isWhitespace }
        let count = scalars.reversed().prefix { $0.properties.isWhitespace }.count
        return String(String.UnicodeScalarView(scalars.dropLast(count)))
    }
}
