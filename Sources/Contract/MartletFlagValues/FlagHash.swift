/// Maps a value to a position in the interval from 0 to 1, identically in all SDKs (GrowthBook's `hash`).
public enum FlagHash: Int, Sendable, Hashable {
    /// The first version, which is biased; kept for experiments that already use it.
    case version1 = 1
    /// FNV-1a of the FNV-1a: uniform, and independent between seeds.
    case version2 = 2

    /// The position of `value`, in steps of 1/1,000 (version 1) or 1/10,000 (version 2). UTF-16 code units are hashed,
    /// as in JavaScript; SDKs in other languages agree for ASCII only.
    public func bucket(of value: String, seed: String) -> Double {
        switch self {
        case .version1:
            var hash = FNV1a()
            hash.add(value)
            hash.add(seed)
            return Double(hash.state % 1_000) / 1_000
        case .version2:
            var inner = FNV1a()
            inner.add(seed)
            inner.add(value)
            var outer = FNV1a()
            outer.addDecimal(inner.state)
            return Double(outer.state % 10_000) / 10_000
        }
    }
}

/// FNV-1a, 32 bits, over UTF-16 code units (http://www.isthe.com/chongo/tech/comp/fnv/).
private struct FNV1a {
    private(set) var state: UInt32 = 0x811c_9dc5

    mutating func add(_ text: String) {
        for unit in text.utf16 { add(UInt32(unit)) }
    }

    /// Adds the decimal digits of a number without building a string.
    mutating func addDecimal(_ number: UInt32) {
        var divisor: UInt32 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            add(0x30 + number / divisor % 10)
            divisor /= 10
        }
    }

    private mutating func add(_ unit: UInt32) {
        state = (state ^ unit) &* 0x0100_0193
    }
}
