/// A JSON number without rounding: ±`digits` × 10^`exponent`.
///
/// Numbers that are equal have the same form: `digits` has no leading and no trailing zeros, and zero has none at all.
struct ExactNumber: Sendable, Hashable {
    /// The most digits of a divisor (`isMultiple`), so that a remainder times ten fits into 64 bits.
    static let maximumDivisorDigits = 18

    let isNegative: Bool
    let digits: [UInt8]
    let exponent: Int

    /// Nil if the text is not a JSON number, or its exponent has more than six digits.
    init?(_ literal: String) {
        var bytes = Array(literal.utf8)[...]
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative { bytes = bytes.dropFirst() }
        var exponent = 0
        if let mark = bytes.firstIndex(where: { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }) {
            let text = String(decoding: bytes[(mark + 1)...], as: UTF8.self)
            guard text.utf8.count <= 7, let written = Int(text) else { return nil }
            exponent = written
            bytes = bytes[..<mark]
        }
        if let point = bytes.firstIndex(of: UInt8(ascii: ".")) {
            exponent -= bytes.endIndex - point - 1
            bytes = bytes[..<point] + bytes[(point + 1)...]
        }
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        var digits = Array(bytes.map { $0 - 0x30 }.drop { $0 == 0 })
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        self.isNegative = isNegative && !digits.isEmpty
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent
    }

    var isInteger: Bool { exponent >= 0 }

    /// Whether the number is a whole multiple of `divisor`, which must be greater than zero and have at most
    /// `maximumDivisorDigits` digits.
    func isMultiple(of divisor: ExactNumber) -> Bool {
        guard !digits.isEmpty else { return true }
        // The last digit is not zero, so the number is not a multiple of a higher power of ten.
        guard exponent >= divisor.exponent else { return false }
        let modulus = divisor.digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1) }
        var remainder: UInt64 = 0
        for digit in digits { remainder = (remainder * 10 + UInt64(digit)) % modulus }
        for _ in 0..<(exponent - divisor.exponent) where remainder != 0 { remainder = remainder * 10 % modulus }
        return remainder == 0
    }
}

extension ExactNumber: Comparable {
    static func < (one: ExactNumber, other: ExactNumber) -> Bool {
        guard one.isNegative == other.isNegative else { return one.isNegative }
        return one.isNegative ? other.isCloserToZero(than: one) : one.isCloserToZero(than: other)
    }

    private func isCloserToZero(than other: ExactNumber) -> Bool {
        guard !digits.isEmpty, !other.digits.isEmpty else { return digits.isEmpty && !other.digits.isEmpty }
        let (places, otherPlaces) = (digits.count + exponent, other.digits.count + other.exponent)
        return places == otherPlaces ? digits.lexicographicallyPrecedes(other.digits) : places < otherPlaces
    }
}
