/// Text in the syntax of Android's resource compiler: backslashes escape, quotes preserve whitespace, and other runs of
/// whitespace become one space.
///
/// developer.android.com, "String resources", "Handle special characters".
enum AndroidText {
    static func read(_ raw: String) -> String {
        var text = String.UnicodeScalarView()
        var isQuoted = false
        var hasBlank = false
        var rest = raw.trimmingBlanks.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if isBlank(scalar), !isQuoted {
                hasBlank = true
                continue
            }
            if hasBlank { text.append(" ") }
            hasBlank = false
            switch scalar {
            case "\"": isQuoted.toggle()
            case "\\": text.append(contentsOf: escape(&rest).unicodeScalars)
            default: text.append(scalar)
            }
        }
        return String(text)
    }

    static func written(_ text: String) -> String {
        var isFirst = true
        var isAfterBlank = true
        let body = text.escaping { scalar in
            defer {
                isFirst = false
                isAfterBlank = scalar == " "
            }
            switch scalar {
            case "\\", "'", "\"": return "\\\(scalar)"
            case "@" where isFirst, "?" where isFirst: return "\\\(scalar)"
            case "\n": return "\\n"
            case "\t": return "\\t"
            case " " where isAfterBlank: return "\\u0020"
            case "\u{0}"..<"\u{20}", "\u{7f}", "\u{fffe}", "\u{ffff}": return "\\u" + scalar.hexDigits
            default: return nil
            }
        }
        return body.hasSuffix(" ") ? body.dropLast() + "\\u0020" : body
    }

    /// Reads an escape after its backslash. An unknown escape stands for the character itself.
    private static func escape(_ rest: inout Substring.UnicodeScalarView) -> String {
        guard let scalar = rest.popFirst() else { return "" }
        switch scalar {
        case "n": return "\n"
        case "t": return "\t"
        case "u":
            let digits = String(String.UnicodeScalarView(rest.prefix(4)))
            guard digits.utf8.count == 4, let unit = UInt16(digits, radix: 16) else { return "" }
            rest = rest.dropFirst(4)
            guard UTF16.isLeadSurrogate(unit), rest.starts(with: "\\u".unicodeScalars) else {
                return String(Unicode.Scalar(UInt32(unit)) ?? "\u{fffd}")
            }
            let next = String(String.UnicodeScalarView(rest.dropFirst(2).prefix(4)))
            guard let low = UInt16(next, radix: 16), let pair = String(validating: [unit, low], as: UTF16.self) else {
                return "\u{fffd}"
            }
            rest = rest.dropFirst(6)
            return pair
        default: return String(scalar)
        }
    }

    fileprivate static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }
}

extension String {
    fileprivate var trimmingBlanks: String {
        let scalars = unicodeScalars.drop(while: AndroidText.isBlank)
        return String(
            String.UnicodeScalarView(scalars.dropLast(scalars.reversed().prefix(while: AndroidText.isBlank).count)))
    }
}
