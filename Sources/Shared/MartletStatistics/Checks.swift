import Foundation

/// The probability of counts at least this far from the weights if units were assigned by them (Pearson's chi-squared
/// test).
///
/// A small one (below 0.001, say) tells that the assignment or the counting is broken, and no result of the test is to
/// be believed.
///
/// - Parameters:
///   - counts: of units, by variation.
///   - weights: more than 0 each; any sum.
/// - Returns: 1 without units, or with a single variation.
public func sampleRatioP(counts: [Int], weights: [Double]) -> Double {
    let total = Double(counts.reduce(0, +)), weight = weights.reduce(0, +)
    guard total > 0, counts.count > 1 else { return 1 }
    let distance = zip(counts, weights).reduce(0.0) { sum, variation in
        let expected = variation.1 / weight * total
        return sum + pow(Double(variation.0) - expected, 2) / expected
    }
    return ChiSquared(degreesOfFreedom: Double(counts.count - 1)).survival(distance)
}

/// The p of several tests, each raised so far that a false alarm in any of them has the probability alpha (Holm 1979).
public func holm(_ p: [Double]) -> [Double] {
    var adjusted = p, largest = 0.0
    for (rank, index) in p.indices.sorted(by: { p[$0] < p[$1] }).enumerated() {
        largest = max(largest, min(1, p[index] * Double(p.count - rank)))
        adjusted[index] = largest
    }
    return adjusted
}

/// How many units a comparison of two variations needs.
///
/// The normal approximation: n = (z(1 − α/2) + z(power))² · (σ²_a / share_a + σ²_b / share_b) / δ².
public struct SampleSize: Sendable {
    public var alpha: Double
    public var power: Double

    public init(alpha: Double = 0.05, power: Double = 0.8) {
        self.alpha = alpha
        self.power = power
    }

    /// Of both variations, to find an absolute difference of `effect` with the probability `power`.
    ///
    /// - Parameter share: of the treatment among the units of both.
    /// - Returns: nil: there is no such number, as the effect is 0, or there are more of them than a whole number can
    ///   count.
    public func units(toFind effect: Double, controlVariance: Double, treatmentVariance: Double, share: Double = 0.5)
        -> Int?
    {
        let units = factor * factor * (controlVariance / (1 - share) + treatmentVariance / share) / (effect * effect)
        return units.isFinite && units < 1e15 ? Int(units.rounded(.up)) : nil
    }

    /// The smallest effect that such an error lets one find with the probability `power`, on the scale of the error.
    public func smallestEffect(standardError: Double) -> Double { factor * standardError }

    private var factor: Double { Normal.upperQuantile(alpha / 2) + Normal.quantile(power) }
}
