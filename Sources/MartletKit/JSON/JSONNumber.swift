public import Foundation

/// A number with its digits as written: `1.10` stays `1.10`, and no integer is too large.
///
/// Two numbers are equal if their values are: `1.0 == 1`.
public struct JSONNumber: Sendable, CustomStringConvertible {
    /// The number as JSON text.
    public let text: String

    /// `text` must be a number by the grammar of JSON.
    init(unchecked text: String) { self.text = text }

    public init<Integer: BinaryInteger>(_ value: Integer) { text = String(value) }

    /// Nil for infinity and NaN, which JSON does not have.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    /// NaN, which JSON does not have, becomes 0.
    public init(_ value: Decimal) { text = value.isNaN ? "0" : value.description }

    /// Nil if the text is not a number by the grammar of JSON.
    public init?(text: String) {
        guard case .number(let number)? = try? JSONReader.read(Data(text.utf8)), number.text == text else { return nil }
        self = number
    }

    public var description: String { text }

    /// The nearest `Double`.
    public var double: Double { shortInteger ?? Double(text) ?? .nan }

    /// Most numbers are integers of few digits, which need no general parser.
    private var shortInteger: Double? {
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        guard (1...15).contains(rest.count) else { return nil }
        var value: Int64 = 0
        for byte in rest {
            guard (48...57).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 48)
        }
        return isNegative ? -Double(value) : Double(value)
    }

    /// Nil if the number does not fit.
    public var decimal: Decimal? { Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) }

    /// The number, if it has no fraction and fits: `44`, `44.0` and `4.4e1` are 44.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type = Integer.self) -> Integer? {
        switch whole {
        case .signed(let value)?: Integer(exactly: value)
        case .unsigned(let value)?: Integer(exactly: value)
        case nil: Integer.bitWidth > 64 ? wholeText.flatMap { Integer($0) } : nil
        }
    }

    private enum Whole { case signed(Int64), unsigned(UInt64) }

    /// The number, if it has no fraction and fits into 64 bits. Not generic: copies for all integer types would add
    /// some 40 KB to every app.
    private var whole: Whole? {
        if let value = Int64(text) { return .signed(value) }
        guard let wholeText else { return nil }
        return Int64(wholeText).map(Whole.signed) ?? UInt64(wholeText).map(Whole.unsigned)
    }

    /// The digits and the sign of a number without a fraction.
    private var wholeText: String? {
        let parts = NormalForm(text)
        guard parts.exponent >= 0, parts.digits.utf8.count + parts.exponent <= 40 else { return nil }
        return (parts.isNegative ? "-" : "") + parts.digits + String(repeating: "0", count: parts.exponent)
    }
}

extension JSONNumber: Hashable {
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.text == right.text || NormalForm(left.text) == NormalForm(right.text)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(NormalForm(text)) }
}

/// Digits without zeros at either end, times a power of ten.
private struct NormalForm: Hashable {
    var isNegative = false
    var digits = ""
    var exponent = 0

    init(_ text: String) {
        var rest = Substring(text)
        isNegative = rest.first == "-"
        if isNegative { rest.removeFirst() }
        if let mark = rest.firstIndex(where: { $0 == "e" || $0 == "E" }) {
            let written = rest[rest.index(after: mark)...]
            // Clamped, so that the arithmetic below cannot overflow.
            exponent = max(-1_000_000_000, min(1_000_000_000, Int(written) ?? (written.first == "-" ? .min : .max)))
            rest = rest[..<mark]
        }
        let parts = rest.split(separator: ".", maxSplits: 1)
        let fraction = parts.count == 2 ? parts[1] : ""
        exponent -= fraction.utf8.count
        var all = Array((parts.first.map(String.init) ?? "").utf8) + Array(fraction.utf8)
        while all.last == UInt8(ascii: "0") {
            all.removeLast()
            exponent += 1
        }
        digits = String(decoding: all.drop { $0 == UInt8(ascii: "0") }, as: UTF8.self)
        if digits.isEmpty {
            digits = "0"
            exponent = 0
            isNegative = false
        }
    }
}

extension JSONNumber: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let decoder = decoder as? JSONValueDecoder {
            self = try decoder.number()
        } else if let value = try? container.decode(Int64.self) {
            self.init(value)
        } else {
            self.init(try container.decode(Decimal.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value: Int64 = integer() { try container.encode(value) } else { try container.encode(decimal ?? 0) }
    }
}
