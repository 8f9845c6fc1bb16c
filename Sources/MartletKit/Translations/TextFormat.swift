import Foundation

/// A value in a text. Literals are values, too: `text("dogs", 3)`.
public enum TextArgument: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral
{
    case string(String)
    case integer(Int)
    case decimal(Double)

    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .decimal(value) }

    var isNumber: Bool {
        if case .string = self { false } else { true }
    }

    /// The value formatted by the specifier, or in its default format if the specifier is for another type.
    func text(_ specifier: TextFormat.Specifier?, language: String) -> String {
        let text =
            switch self {
            case .string(let text): text
            case .integer(let number):
                specifier?.isDecimal == true
                    ? Self.decimal(Double(number), specifier, language) : Self.integer(number, specifier)
            case .decimal(let number): Self.decimal(number, specifier, language)
            }
        let missing = min(specifier?.width ?? 0, 200) - text.count
        guard missing > 0, let specifier else { return text }
        if specifier.flags.contains("-") { return text + String(repeating: " ", count: missing) }
        guard specifier.flags.contains("0"), isNumber else { return String(repeating: " ", count: missing) + text }
        let sign = text.prefix { $0 == "-" || $0 == "+" }
        return sign + String(repeating: "0", count: missing) + text.dropFirst(sign.count)
    }

    private static func integer(_ number: Int, _ specifier: TextFormat.Specifier?) -> String {
        switch specifier?.conversion {
        case "x": String(number, radix: 16)
        case "X": String(number, radix: 16, uppercase: true)
        case "o": String(number, radix: 8)
        default: (specifier?.flags.contains("+") == true && number >= 0 ? "+" : "") + String(number)
        }
    }

    private static func decimal(_ number: Double, _ specifier: TextFormat.Specifier?, _ language: String) -> String {
        guard number.isFinite else { return "\(number)" }
        var text: String
        if let specifier, specifier.isDecimal {
            text = String(format: "%.*\(specifier.conversion)", min(specifier.precision ?? 6, 100), number)
        } else if specifier?.isNumber == true {
            text = String(format: "%.0f", number.rounded(.towardZero))
        } else {
            text = JSONNumber(number)?.text ?? "\(number)"
        }
        if specifier?.flags.contains("+") == true, number >= 0 { text = "+" + text }
        let separator = Locale(identifier: language).decimalSeparator ?? "."
        return separator == "." ? text : text.replacingOccurrences(of: ".", with: separator)
    }
}

/// A text with placeholders in the syntax of `printf` and Foundation: `%@`, `%lld`, `%2$.1f`, `%%`.
///
/// A value that does not fit its placeholder's type is shown in its default format, and a placeholder without a value
/// stays in the text. Texts come from a server, and must not be able to crash an app.
struct TextFormat: Sendable {
    struct Specifier: Sendable, Equatable {
        var position: Int?
        var flags = ""
        var width: Int?
        var precision: Int?
        var conversion: Character

        var isDecimal: Bool { "fFeEgGaA".contains(conversion) }
        var isNumber: Bool { isDecimal || "diuxXo".contains(conversion) }
    }

    private enum Part: Sendable {
        case text(String)
        case value(Specifier, source: String)
    }

    private let parts: [Part]

    var specifiers: [Specifier] {
        parts.compactMap { part in
            if case .value(let specifier, _) = part { specifier } else { nil }
        }
    }

    init(_ text: String) {
        var parts: [Part] = []
        var plain = ""
        var rest = Substring(text)
        while let mark = rest.firstIndex(of: "%") {
            plain += rest[..<mark]
            rest = rest[mark...]
            if rest.hasPrefix("%%") {
                plain += "%"
                rest = rest.dropFirst(2)
            } else if let (specifier, end) = Self.specifier(rest) {
                if !plain.isEmpty { parts.append(.text(plain)) }
                plain = ""
                parts.append(.value(specifier, source: String(rest[..<end])))
                rest = rest[end...]
            } else {
                plain += "%"
                rest = rest.dropFirst()
            }
        }
        plain += rest
        if !plain.isEmpty { parts.append(.text(plain)) }
        self.parts = parts
    }

    func text(_ arguments: [TextArgument], _ style: TextStyle) -> String {
        var next = 0
        return parts.map { part -> String in
            guard case .value(let specifier, let source) = part else {
                if case .text(let text) = part { return text }
                return ""
            }
            let index = specifier.position.map { $0 - 1 } ?? next
            next = index + 1
            guard arguments.indices.contains(index) else { return source }
            return arguments[index].text(specifier, language: style.language)
        }.joined()
    }

    /// The specifier at the start of the text, and where it ends. `%arg` and `%#@name@` are not specifiers.
    private static func specifier(_ text: Substring) -> (Specifier, Substring.Index)? {
        var rest = text.dropFirst()
        guard !rest.hasPrefix("arg"), !rest.hasPrefix("#@") else { return nil }
        var specifier = Specifier(conversion: "@")
        if let dollar = rest.firstIndex(of: "$"), let position = Int(rest[..<dollar]), (1...99).contains(position) {
            specifier.position = position
            rest = rest[rest.index(after: dollar)...]
        }
        while let flag = rest.first, "-+ 0#'".contains(flag) {
            specifier.flags.append(flag)
            rest.removeFirst()
        }
        specifier.width = number(&rest)
        if rest.first == "." {
            rest.removeFirst()
            specifier.precision = number(&rest) ?? 0
        }
        rest = rest.drop { "hlqLzjt".contains($0) }
        guard let conversion = rest.first, "@diuxXofFeEgGaAsc".contains(conversion) else { return nil }
        specifier.conversion = conversion
        return (specifier, rest.index(after: rest.startIndex))
    }

    private static func number(_ text: inout Substring) -> Int? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        text = text.dropFirst(digits.count)
        return digits.isEmpty ? nil : Int(digits.prefix(4))
    }
}

extension String {
    /// Replaces `%#@name@`. Names for which the closure returns nil are kept.
    func replacingSubstitutions(_ replacement: (String) -> String?) -> String {
        var result = ""
        var rest = Substring(self)
        while let start = rest.range(of: "%#@") {
            guard let end = rest[start.upperBound...].firstIndex(of: "@") else { break }
            let name = String(rest[start.upperBound..<end])
            let after = rest.index(after: end)
            result += rest[..<start.lowerBound] + (replacement(name) ?? String(rest[start.lowerBound..<after]))
            rest = rest[after...]
        }
        return result + rest
    }

    func replacingNumber(_ number: String) -> String { replacingOccurrences(of: "%arg", with: number) }
}
