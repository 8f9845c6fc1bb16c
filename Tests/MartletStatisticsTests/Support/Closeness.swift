import Foundation
import MartletStatistics

/// Whether two numbers differ by at most `relative` times the second, or by at most `absolute`, because the smallest
/// numbers have too few digits for a relative bound.
func close(_ a: Double, _ b: Double, absolute: Double = 1e-300, relative: Double = 1e-9) -> Bool {
    a == b || abs(a - b) <= max(relative * abs(b), absolute)
}

/// Whether both ends agree.
func close(_ interval: Interval, _ ends: [Double]) -> Bool {
    // An end near 0 is a small difference of two larger numbers, so its rounding error is relative to those.
    let absolute = 1e-12 * max(abs(ends[0]), abs(ends[1]))
    return ends.count == 2 && close(interval.lower, ends[0], absolute: absolute)
        && close(interval.upper, ends[1], absolute: absolute)
}

/// The same numbers in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
