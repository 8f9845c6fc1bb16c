import MartletAPI
import MartletHTTP

/// A `$regex` with its `$options`, as PostgreSQL's advanced regular expressions understand it.
///
/// Options: `i` any case, `m` `^` and `$` at every line, `s` the dot matches line breaks, `x` blanks and comments, `u`
/// nothing. `\Q…\E` quotes; `\b` and `\B` are word boundaries.
struct RegexPattern {
    static let maximumLengthInBytes = 1_000

    let text: String
    /// What every match begins with, when the pattern says so: an index range.
    let prefix: String?
    /// Whether the prefix is all that the pattern asks for.
    let isPrefixOnly: Bool

    /// - Throws: `invalid-filter`, `limit-exceeded`.
    init(_ pattern: String, options: String, field: String) throws {
        guard pattern.utf8.count <= Self.maximumLengthInBytes else {
            throw HTTPProblem(.limitExceeded, "A pattern has at most \(Self.maximumLengthInBytes) bytes.", field: field)
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
            throw HTTPProblem(.invalidFilter, "$options has some of i, m, s, x, u.", field: field)
        }
        let translated = Self.translate(pattern)
        text = "(?\(Self.flags(options)))" + translated.text
        prefix = options.isDisjoint(with: "imx") ? translated.prefix : nil
        isPrefixOnly = translated.isPrefixOnly
    }

    /// PostgreSQL's: `p` the dot stops at line breaks, `n` and anchors are of lines, `w` anchors only, `s` neither.
    private static func flags(_ options: Set<Character>) -> String {
        let lines = options.contains("m") ? (options.contains("s") ? "w" : "n") : (options.contains("s") ? "s" : "p")
        return lines + (options.contains("i") ? "i" : "") + (options.contains("x") ? "x" : "")
    }

    private static func translate(_ pattern: Substring) -> (text: String, prefix: String?, isPrefixOnly: Bool) {
        var text = ""
        // What stands for itself, from the start on; nil once something else has been met.
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
                // A bracket right behind the opening one stands for itself.
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
                // An alternative may begin with anything.
                return (text + translate(alternative: rest), nil, false)
            default: literal?.append(character)
            }
        }
        if let literal { return (text, literal.isEmpty ? nil : literal, true) }
        // An alternative inside parentheses leaves what stands before them as it is; one outside returned above.
        return (text, prefix.flatMap { $0.isEmpty ? nil : $0 }, false)
    }

    /// The rest of a pattern behind a `|`.
    private static func translate(alternative rest: Substring) -> String { translate(rest).text }

    private static func quoted(_ character: Character) -> String {
        character.isLetter || character.isNumber || !character.isASCII || character == " "
            ? String(character) : "\\" + String(character)
    }

    /// The first text, by bytes, behind all that begin with the prefix; nil: there is none.
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
