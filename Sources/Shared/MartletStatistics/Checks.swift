import Foundation

/// The probability of counts that deviate at least this much from the weights if units were assigned by the weights
/// (Pearson's chi-squared test).
///
/// A small value (say, below 0.001) means that the assignment or the counting is broken, so the results of the test are
/// not valid.
///
/// - Parameters:
///   - counts: The number of units, by variation.
///   - weights: Positive; they need not add up to 1.
/// - Returns: 1 without units or with a single variation.
public func sampleRatioP(counts: [Int], weights: [Double]) -> Double {
    let total = Double(counts.reduce(0, +)), weight = weights.reduce(0, +)
    guard total > 0, counts.count > 1 else { return 1 }
    let distance = zip(counts, weights).reduce(0.0) { sum, variation in
        let expected = variation.1 / weight * total
        return sum + pow(Double(variation.0) - expected, 2) / expected
    }
    return ChiSquared(degreesOfFreedom: Double(counts.count - 1)).survival(distance)
}

/// The p-values of several tests, adjusted so that the probability of any false alarm is at most alpha (Holm 1979).
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

    /// The number of units, in both variations together, to detect an absolute difference of `effect` with probability
    /// `power`.
    ///
    /// - Parameter share: The treatment's share of all units.
    /// - Returns: Nil if the effect is 0 or the number does not fit into an `Int`.
    public func units(toFind effect: Double, controlVariance: Double, treatmentVariance: Double, share: Double = 0.5)
        -> Int?
    {
        let units = factor * factor * (controlVariance / (1 - share) + treatmentVariance / share) / (effect * effect)
        return units.isFinite && units < 1e15 ? Int(units.rounded(.up)) : nil
    }

    /// The smallest effect that can be detected with probability `power` at this standard error, in the same unit.
    public func smallestEffect(standardError: Double) -> Double { factor * standardError }

    private var factor: Double { Normal.upperQuantile(alpha / 2) + Normal.quantile(power) }
}
