import MartletAPI
import MartletCore

/// A `$regex` with its `$options`, translated to PostgreSQL's advanced regular expressions.
///
/// Options: `i` ignores case, `m` lets `^` and `$` match at every line, `s` lets the dot match line breaks, `x` allows
/// whitespace and comments, `u` has no effect. `\Q…\E` quotes; `\b` and `\B` are word boundaries.
struct RegexPattern {
    static let maximumLengthInBytes = 1_000

    let text: String
    /// The text with which every match begins, if the pattern determines one. It becomes an index range.
    let prefix: String?
    /// Whether the pattern consists of the prefix only.
    let isPrefixOnly: Bool

    /// - Throws: `invalid-filter`, `limit-exceeded`.
    init(_ pattern: String, options: String, field: String) throws {
        guard pattern.utf8.count <= Self.maximumLengthInBytes else {
            throw ServiceError(
                .limitExceeded, "A pattern may have at most \(Self.maximumLengthInBytes) bytes.", field: field)
        }
        var options = Set(options)
        var pattern = Substring(pattern)
        if pattern.hasPrefix("(?"), let end = pattern.firstIndex(of: ")"),
            pattern[pattern.index(pattern.startIndex, offsetBy: 2)..<end].allSatisfy({ "imsxu".contains($0) })
        {
            options.formUnion(pattern[pattern.index(pattern.startIndex, offsetBy: 2)..<end])
            pattern = pattern[pattern.index(after: end)...]
        }
        guard options.isSubset(of: "imsxu") else {
            let found = JSONValue.excerpt(String(options.sorted()))
            throw ServiceError(
                .invalidFilter, "Expected only the letters i, m, s, x and u in $options, found \(found).", field: field)
        }
        let translated = Self.translate(pattern)
        text = "(?\(Self.flags(options)))" + translated.text
        prefix = options.isDisjoint(with: "imx") ? translated.prefix : nil
        isPrefixOnly = translated.isPrefixOnly
    }

    /// PostgreSQL's flags: `p` excludes line breaks from the dot, `w` lets anchors match at lines, `n` does both, `s`
    /// neither.
    private static func flags(_ options: Set<Character>) -> String {
        let lines = options.contains("m") ? (options.contains("s") ? "w" : "n") : (options.contains("s") ? "s" : "p")
        return lines + (options.contains("i") ? "i" : "") + (options.contains("x") ? "x" : "")
    }

    private static func translate(_ pattern: Substring) -> (text: String, prefix: String?, isPrefixOnly: Bool) {
        var text = ""
        // The literal prefix so far; nil once it has ended.
        var literal: String? = pattern.first == "^" ? "" : nil
        var prefix: String?
        var isQuoted = false
        var isInBrackets = false
        var rest = pattern[...]
        if pattern.first == "^" {
            text = "^"
            rest = rest.dropFirst()
        }
        func end(droppingLast: Bool) {
            guard var found = literal else { return }
            if droppingLast, !found.isEmpty { found.removeLast() }
            prefix = found
            literal = nil
        }
        while let character = rest.first {
            rest = rest.dropFirst()
            if isQuoted {
                if character == "\\", rest.first == "E" {
                    rest = rest.dropFirst()
                    isQuoted = false
                } else {
                    text += quoted(character)
                    literal?.append(character)
                }
                continue
            }
            if character == "\\" {
                guard let escaped = rest.first else {
                    text += "\\"
                    end(droppingLast: false)
                    break
                }
                rest = rest.dropFirst()
                switch escaped {
                case "Q" where !isInBrackets: isQuoted = true
                case "E" where !isInBrackets: break
                case "b" where !isInBrackets:
                    text += "\\y"
                    end(droppingLast: false)
                case "B" where !isInBrackets:
                    text += "\\Y"
                    end(droppingLast: false)
                case "z":
                    text += "\\Z"
                    end(droppingLast: false)
                default:
                    text += "\\" + String(escaped)
                    if escaped.isLetter || escaped.isNumber {
                        end(droppingLast: false)
                    } else {
                        literal?.append(escaped)
                    }
                }
                continue
            }
            text.append(character)
            if isInBrackets {
                if character == "]" { isInBrackets = false }
                continue
            }
            switch character {
            case "[":
                isInBrackets = true
                end(droppingLast: false)
                // A bracket right after the opening one is literal.
                if rest.first == "^" {
                    text.append("^")
                    rest = rest.dropFirst()
                }
                if rest.first == "]" {
                    text.append("]")
                    rest = rest.dropFirst()
                }
            case "*", "?", "{": end(droppingLast: true)
            case "+", ".", "(", "$", ")": end(droppingLast: false)
            case "|":
                literal = nil
                prefix = nil
                // An alternative can begin with anything, so there is no prefix.
                return (text + translate(alternative: rest), nil, false)
            default: literal?.append(character)
            }
        }
        if let literal { return (text, literal.isEmpty ? nil : literal, true) }
        // An alternative inside parentheses does not affect the prefix before them; one outside has returned above.
        return (text, prefix.flatMap { $0.isEmpty ? nil : $0 }, false)
    }

    /// Translates the rest of a pattern after a `|`.
    private static func translate(alternative rest: Substring) -> String { translate(rest).text }

    private static func quoted(_ character: Character) -> String {
        character.isLetter || character.isNumber || !character.isASCII || character == " "
            ? String(character) : "\\" + String(character)
    }

    /// The first text, by bytes, after all texts with the prefix; nil if there is none.
    static func upperBound(of prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            let next = last.value == 0xd7ff ? 0xe000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            text.append(scalar)
            return String(text)
        }
        return nil
    }
}
