/// A place between two others, as text that compares byte by byte: putting something there changes nothing else.
///
/// A whole part whose first letter says how long it is (`a0`, `az`, `b00`, and `Zz` below), then a fraction without
/// zeros at its end; digits are `0-9A-Za-z`. So a row that grows at its ends has keys as long as the logarithm of its
/// length, and only putting things into one gap again and again makes longer ones: by a character each five times. The
/// scheme is David Greenspan's, "Implementing Fractional Indexing" (2020).
struct FractionalKey: Sendable, Hashable, Comparable {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let zero = UInt8(ascii: "0")

    let text: String

    private init(_ bytes: some Sequence<UInt8>) {
        text = String(decoding: Array(bytes), as: UTF8.self)
    }

    /// The first one in an empty row.
    static let first = FractionalKey([UInt8(ascii: "a"), zero])

    /// Nil for what is no key.
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

    /// A key above `low` and below `high`; nil stands for the end of the row.
    ///
    /// Nil when there is no room: they are the wrong way round, the same, or at the very end of what keys can say.
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

    /// Keys for a whole row, in order.
    static func row(of count: Int) -> [FractionalKey] {
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

    /// Of the whole part with its head.
    private static func wholeLength(_ head: UInt8) -> Int? {
        switch head {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(head - UInt8(ascii: "a")) + 2
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(UInt8(ascii: "Z") - head) + 2
        default: nil
        }
    }

    private static func value(_ digit: UInt8) -> Int { digits.firstIndex(of: digit) ?? 0 }

    /// Nil behind the greatest.
    private static func incremented(_ whole: [UInt8]) -> [UInt8]? {
        var bytes = whole
        for place in bytes.indices.dropFirst().reversed() {
            guard bytes[place] == digits.last else {
                bytes[place] = digits[value(bytes[place]) + 1]
                return bytes
            }
            bytes[place] = zero
        }
        switch whole[0] {
        case UInt8(ascii: "z"): return nil
        case UInt8(ascii: "Z"): return [UInt8(ascii: "a"), zero]
        case let head: return [head + 1] + [UInt8](repeating: zero, count: (wholeLength(head + 1) ?? 2) - 1)
        }
    }

    /// Nil before the least.
    private static func decremented(_ whole: [UInt8]) -> [UInt8]? {
        var bytes = whole
        let greatest = UInt8(ascii: "z")
        for place in bytes.indices.dropFirst().reversed() {
            guard bytes[place] == zero else {
                bytes[place] = digits[value(bytes[place]) - 1]
                return bytes
            }
            bytes[place] = greatest
        }
        switch whole[0] {
        case UInt8(ascii: "A"): return nil
        case UInt8(ascii: "a"): return [UInt8(ascii: "Z"), greatest]
        case let head: return [head - 1] + [UInt8](repeating: greatest, count: (wholeLength(head - 1) ?? 2) - 1)
        }
    }

    /// The digits of a fraction between two, the upper of which is 1 where there is none; nil when they are not in
    /// order.
    private static func midpoint(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8]? {
        var prefix: [UInt8] = []
        var (low, high) = (low[...], high.map { $0[...] })
        while true {
            // What both begin with; behind the end of `low` are zeros.
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
