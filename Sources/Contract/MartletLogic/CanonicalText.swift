/// The elements of canonical JSON (RFC 8785, JCS).
public enum CanonicalText {
    /// A number as ECMAScript prints it (ECMA-262, Number::toString): with the fewest digits that read back as the same
    /// number.
    public static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity" }
        if abs(value) < 1e15, let whole = Int64(exactly: value) { return String(whole) }
        let (digits, exponent) = decimal(abs(value))
        let text =
            switch exponent {
            case digits.count...21: digits + zeros(exponent - digits.count)
            case 1...21: "\(digits.prefix(exponent)).\(digits.dropFirst(exponent))"
            case -5...0: "0." + zeros(-exponent) + digits
            default: scientific(digits, exponent - 1)
            }
        return value < 0 ? "-" + text : text
    }

    /// `value` = 0.digits × 10^exponent, without zeros at either end.
    private static func decimal(_ value: Double) -> (digits: String, exponent: Int) {
        // Swift also prints the shortest digits that read back; only the position of the point differs.
        let parts = value.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let all = mantissa.joined()
        let leading = all.prefix { $0 == "0" }.count
        var digits = all.dropFirst(leading)
        while digits.last == "0" { digits.removeLast() }
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        return (String(digits), mantissa[0].count - leading + exponent)
    }

    private static func scientific(_ digits: String, _ exponent: Int) -> String {
        let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
        return "\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(abs(exponent))"
    }

    private static func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }

    /// `string` as a JSON string, quotes included (RFC 8785 §3.2.2.2).
    public static func quote(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{08}": text += "\\b"
            case "\u{09}": text += "\\t"
            case "\u{0a}": text += "\\n"
            case "\u{0c}": text += "\\f"
            case "\u{0d}": text += "\\r"
            case "\u{00}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + zeros(4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// Whether one member name sorts before another: by UTF-16 code units (RFC 8785 §3.2.3).
    public static func isOrdered(_ name: String, before other: String) -> Bool {
        name.utf16.lexicographicallyPrecedes(other.utf16)
    }
}
