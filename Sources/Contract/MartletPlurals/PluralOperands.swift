/// The properties of a number that plural rules test. They depend on how it is displayed: 1, 1.0 and 1.00 differ.
///
/// Unicode Technical Standard 35, part 3, "Operands": `n` is the absolute value, `i` its whole part, `v` and `w` the
/// number of fraction digits with and without trailing zeros, `f` and `t` those digits as a number, `c` (also `e`) the
/// exponent of the compact form (`1.2c6`).
public struct PluralOperands: Sendable, Equatable {
    let wholePart: Int
    let fractionLength: Int
    let trimmedFractionLength: Int
    let fraction: Int
    let trimmedFraction: Int
    let exponent: Int

    /// - Parameter text: Digits with an optional sign, fraction and compact exponent. The result is nil for any other
    ///   text, and beyond 18 digits.
    public init?(_ text: some StringProtocol) {
        var digits = Substring(text)
        if digits.first == "-" { digits = digits.dropFirst() }
        let halves = digits.split(separator: "c", maxSplits: 1, omittingEmptySubsequences: false)
        let decimal = halves[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let exponent = halves.count == 1 ? 0 : Self.number(halves[1]), exponent <= 18,
            Self.number(decimal[0]) != nil
        else { return nil }
        let fraction = decimal.count == 1 ? "" : String(decimal[1])
        guard decimal.count == 1 || Self.number(fraction) != nil else { return nil }

        // The compact exponent moves the decimal point to the right.
        let moved = String(fraction.prefix(exponent))
        let zeros = String(repeating: "0", count: exponent - moved.count)
        let rest = String(fraction.dropFirst(exponent))
        let trimmed = String(rest.reversed().drop { $0 == "0" }.reversed())
        guard let wholePart = Self.number(String(decimal[0]) + moved + zeros) else { return nil }
        self.wholePart = wholePart
        self.exponent = exponent
        fractionLength = rest.count
        trimmedFractionLength = trimmed.count
        self.fraction = Self.number(rest) ?? 0
        trimmedFraction = Self.number(trimmed) ?? 0
    }

    private static func number(_ text: some StringProtocol) -> Int? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
