/// A position between two others, as text that is compared byte by byte. Inserting an element changes no other key.
///
/// The integer part comes first; its first letter gives its length (`a0`, `az`, `b00`, and `Zz` below them). A fraction
/// without trailing zeros follows. The digits are `0-9A-Za-z`. If a list grows at its ends, the length of keys grows
/// with the logarithm of the list's length. Only repeated insertion into the same gap makes longer keys, by one
/// character per five insertions. The scheme is David Greenspan's, "Implementing Fractional Indexing" (2020).
struct FractionalKey: Sendable, Hashable, Comparable {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let zero = UInt8(ascii: "0")

    let text: String

    private init(_ bytes: some Sequence<UInt8>) {
        text = String(decoding: Array(bytes), as: UTF8.self)
    }

    /// The first key of an empty list.
    static let first = FractionalKey([UInt8(ascii: "a"), zero])

    /// Nil if the text is not a valid key.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let length = bytes.first.flatMap(Self.wholeLength), bytes.count >= length,
            bytes.dropFirst().allSatisfy({ Self.digits.contains($0) }), bytes.count == length || bytes.last != Self.zero
        else { return nil }
        self.text = text
    }

    static func < (left: FractionalKey, right: FractionalKey) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// A key above `low` and below `high`; nil for a bound stands for the end of the list.
    ///
    /// Returns nil if there is no such key: the bounds are equal or in the wrong order, or the range of keys is
    /// exhausted.
    static func between(_ low: FractionalKey?, _ high: FractionalKey?) -> FractionalKey? {
        switch (low, high) {
        case (nil, nil): return first
        case (let low?, nil):
            let (whole, fraction) = low.parts
            if let next = incremented(whole) { return FractionalKey(next) }
            return midpoint(fraction, nil).map { FractionalKey(whole + $0) }
        case (nil, let high?):
            let (whole, fraction) = high.parts
            if !fraction.isEmpty { return FractionalKey(whole) }
            return decremented(whole).map { FractionalKey($0) }
        case (let low?, let high?):
            guard low < high else { return nil }
            let ((lowWhole, lowFraction), (highWhole, highFraction)) = (low.parts, high.parts)
            if lowWhole == highWhole { return midpoint(lowFraction, highFraction).map { FractionalKey(lowWhole + $0) } }
            if let next = incremented(lowWhole), FractionalKey(next) < high { return FractionalKey(next) }
            return midpoint(lowFraction, nil).map { FractionalKey(lowWhole + $0) }
        }
    }

    /// Keys for a whole list, in order.
    static func keys(count: Int) -> [FractionalKey] {
        var keys: [FractionalKey] = []
        keys.reserveCapacity(count)
        while keys.count < count, let next = between(keys.last, nil) { keys.append(next) }
        return keys
    }

    // MARK: Parts

    private var parts: (whole: [UInt8], fraction: [UInt8]) {
        let bytes = Array(text.utf8)
        let length = bytes.first.flatMap(Self.wholeLength) ?? bytes.count
        return (Array(bytes.prefix(length)), Array(bytes.dropFirst(length)))
    }

    /// The length of the integer part, including its first letter.
    private static func wholeLength(_ head: UInt8) -> Int? {
        switch head {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(head - UInt8(ascii: "a")) + 2
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(UInt8(ascii: "Z") - head) + 2
        default: nil
        }
    }

    private static func value(_ digit: UInt8) -> Int { digits.firstIndex(of: digit) ?? 0 }

    /// Nil for the greatest integer part.
    private static func incremented(_ whole: [UInt8]) -> [UInt8]? {
        var bytes = whole
        for index in bytes.indices.dropFirst().reversed() {
            guard bytes[index] == digits.last else {
                bytes[index] = digits[value(bytes[index]) + 1]
                return bytes
            }
            bytes[index] = zero
        }
        switch whole[0] {
        case UInt8(ascii: "z"): return nil
        case UInt8(ascii: "Z"): return [UInt8(ascii: "a"), zero]
        case let head: return [head + 1] + [UInt8](repeating: zero, count: (wholeLength(head + 1) ?? 2) - 1)
        }
    }

    /// Nil for the least integer part.
    private static func decremented(_ whole: [UInt8]) -> [UInt8]? {
        var bytes = whole
        let greatest = UInt8(ascii: "z")
        for index in bytes.indices.dropFirst().reversed() {
            guard bytes[index] == zero else {
                bytes[index] = digits[value(bytes[index]) - 1]
                return bytes
            }
            bytes[index] = greatest
        }
        switch whole[0] {
        case UInt8(ascii: "A"): return nil
        case UInt8(ascii: "a"): return [UInt8(ascii: "Z"), greatest]
        case let head: return [head - 1] + [UInt8](repeating: greatest, count: (wholeLength(head - 1) ?? 2) - 1)
        }
    }

    /// The digits of a fraction between two others; `high` nil stands for 1. Returns nil if the two are not in order.
    private static func midpoint(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8]? {
        var prefix: [UInt8] = []
        var (low, high) = (low[...], high.map { $0[...] })
        while true {
            // Skips the common prefix. Past its end, `low` has zeros.
            while let upper = high?.first, (low.first ?? zero) == upper {
                prefix.append(upper)
                (low, high) = (low.dropFirst(), high?.dropFirst())
            }
            if let high, high.isEmpty { return nil }
            let lower = low.first.map(value) ?? 0
            let upper = high?.first.map(value) ?? digits.count
            guard lower < upper else { return nil }
            if upper - lower > 1 { return prefix + [digits[(lower + upper + 1) / 2]] }
            if let high, high.count > 1 { return prefix + [high[high.startIndex]] }
            prefix.append(digits[lower])
            (low, high) = (low.dropFirst(), nil)
        }
    }
}
