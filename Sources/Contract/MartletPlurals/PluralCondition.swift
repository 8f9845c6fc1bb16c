import Foundation

/// One condition of CLDR's plural rules, as in `n % 10 = 2..4 and n % 100 != 12..14` (UTS 35, part 3, "Plural rules
/// syntax").
struct PluralCondition: Sendable {
    private struct Relation: Sendable {
        let operand: Character
        let modulus: Int?
        let isNegated: Bool
        let ranges: [ClosedRange<Int>]

        func holds(for number: PluralOperands) -> Bool {
            guard let value = value(of: number) else { return isNegated }
            let remainder = modulus.map { value % $0 } ?? value
            return ranges.contains { $0.contains(remainder) } != isNegated
        }

        /// Nil if the operand is not a whole number, which no range contains.
        private func value(of number: PluralOperands) -> Int? {
            switch operand {
            case "n": number.trimmedFraction == 0 ? number.wholePart : nil
            case "i": number.wholePart
            case "v": number.fractionLength
            case "w": number.trimmedFractionLength
            case "f": number.fraction
            case "t": number.trimmedFraction
            default: number.exponent
            }
        }
    }

    /// The condition holds if all relations of one alternative do.
    private let alternatives: [[Relation]]

    /// Nil if the text is not in CLDR's syntax.
    init?(_ text: some StringProtocol) {
        var alternatives: [[Relation]] = []
        for alternative in text.components(separatedBy: " or ") {
            let relations = alternative.components(separatedBy: " and ").map(Self.relation)
            guard !relations.contains(where: { $0 == nil }) else { return nil }
            alternatives.append(relations.compactMap(\.self))
        }
        self.alternatives = alternatives
    }

    func holds(for number: PluralOperands) -> Bool {
        alternatives.contains { $0.allSatisfy { $0.holds(for: number) } }
    }

    private static func relation(_ text: String) -> Relation? {
        var words = text.split(separator: " ")[...]
        guard let operand = words.popFirst()?.first, "nivwftce".contains(operand) else { return nil }
        var modulus: Int?
        if words.first == "%" {
            guard let number = words.dropFirst().first.flatMap({ Int($0) }), number > 0 else { return nil }
            modulus = number
            words = words.dropFirst(2)
        }
        guard let sign = words.popFirst(), sign == "=" || sign == "!=", let list = words.popFirst(), words.isEmpty
        else { return nil }
        let ranges = list.split(separator: ",").map(range)
        guard !ranges.contains(where: { $0 == nil }) else { return nil }
        return Relation(operand: operand, modulus: modulus, isNegated: sign == "!=", ranges: ranges.compactMap(\.self))
    }

    private static func range(_ text: Substring) -> ClosedRange<Int>? {
        let bounds = text.components(separatedBy: "..").map { Int($0) }
        guard let first = bounds[0] else { return nil }
        if bounds.count == 1 { return first...first }
        guard bounds.count == 2, let last = bounds[1], first <= last else { return nil }
        return first...last
    }
}
