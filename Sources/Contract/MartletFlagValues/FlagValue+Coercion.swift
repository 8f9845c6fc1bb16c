import Foundation

/// JavaScript's conversions and comparisons (ECMA-262 §7.1, §7.2), which GrowthBook's published test cases rely on.
extension FlagValue {
    /// ToBoolean.
    package var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let number): !(number == 0 || number.isNaN)
        case .string(let text): !text.isEmpty
        case .array, .object: true
        }
    }

    /// ToString.
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let number): Self.text(of: number)
        case .string(let text): text
        case .array(let elements): elements.map { $0 == .null ? "" : $0.text }.joined(separator: ",")
        case .object: "[object Object]"
        }
    }

    /// ToNumber.
    package var number: Double {
        switch self {
        case .null: 0
        case .bool(let value): value ? 1 : 0
        case .number(let number): number
        case .string(let text): Self.number(in: text)
        case .array: Self.number(in: text)
        case .object: .nan
        }
    }

    /// The name of the type in `$type`, as `typeof` and `Array.isArray` determine it.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// `===`. Arrays and objects are never equal, because JavaScript compares them by identity.
    package func isStrictlyEqual(to other: FlagValue) -> Bool {
        switch (self, other) {
        case (.array, _), (.object, _): false
        default: self == other
        }
    }

    /// `<`, `<=`, `>`, `>=`: two strings by UTF-16 code units, all other values as numbers. Comparisons with NaN are
    /// false.
    package func isOrdered(_ comparison: Comparison, _ other: FlagValue) -> Bool {
        if case .string(let left) = primitive, case .string(let right) = other.primitive {
            return comparison.holds(left.utf16, right.utf16)
        }
        return comparison.holds(number, other.number)
    }

    private var primitive: FlagValue {
        switch self {
        case .array, .object: .string(text)
        default: self
        }
    }

    private static func text(of number: Double) -> String {
        if number == number.rounded(), abs(number) < 1e15 { return String(Int64(number)) }
        return number.isNaN ? "NaN" : String(number)
    }

    private static func number(in text: String) -> Double {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if trimmed.isEmpty { return 0 }
        // Swift accepts more than JavaScript: "nan", "inf", hexadecimal fractions.
        guard trimmed.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return .nan }
        return Double(trimmed) ?? .nan
    }
}

/// An ordering operator of a condition.
package enum Comparison: Sendable {
    case less, lessOrEqual, greater, greaterOrEqual

    package func holds(_ left: Double, _ right: Double) -> Bool {
        switch self {
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }

    package func holds<Units: Sequence<UInt16>>(_ left: Units, _ right: Units) -> Bool {
        switch self {
        case .less: left.lexicographicallyPrecedes(right)
        case .lessOrEqual: !right.lexicographicallyPrecedes(left)
        case .greater: right.lexicographicallyPrecedes(left)
        case .greaterOrEqual: !left.lexicographicallyPrecedes(right)
        }
    }
}
