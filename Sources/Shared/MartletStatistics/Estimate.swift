import Foundation

/// An estimate of a metric from a variation's units: the mean and the variance per unit.
public struct Estimate: Sendable, Equatable {
    public var count: Int
    /// Adjusted by the covariate, if there is one.
    public var mean: Double
    /// Per unit, not of the mean.
    public var variance: Double
    /// The mean without adjustment; the base of relative effects.
    public var measuredMean: Double

    public init(count: Int, mean: Double, variance: Double, measuredMean: Double? = nil) {
        self.count = count
        self.mean = mean
        self.variance = variance
        self.measuredMean = measuredMean ?? mean
    }

    /// A mean or a proportion.
    public init(_ sums: Sums) {
        self.init(count: sums.count, mean: sums.mean, variance: sums.variance)
    }

    /// The ratio of two sums, such as revenue per order, where the unit is the assigned user. The variance uses the
    /// delta method (Deng, Knoblich, Lu 2018, arXiv 1803.06336).
    ///
    /// - Parameter ratio: The numerator first, the denominator second.
    public init(ratio: PairedSums) {
        let above = ratio.first, below = ratio.second
        guard below.sum != 0, above.count > 1 else {
            self.init(count: above.count, mean: 0, variance: 0)
            return
        }
        let variance =
            above.variance / pow(below.mean, 2) - 2 * ratio.covariance * above.mean / pow(below.mean, 3)
            + pow(above.mean, 2) * below.variance / pow(below.mean, 4)
        self.init(count: above.count, mean: above.sum / below.sum, variance: variance)
    }
}

/// Adjusts the outcome of two variations by a value known of each unit before the test: CUPED (Deng, Xu, Kohavi, Walker
/// 2013).
///
/// Y − θX has the same expected difference as Y, with less variance if X and Y correlate. θ = cov(Y, X) / var(X) over
/// both variations.
public struct Adjustment: Sendable, Equatable {
    public let control: Estimate
    public let treatment: Estimate
    /// 0 if one of the two values does not vary, so that nothing is adjusted.
    public let theta: Double
    /// The fraction by which the variance of the difference shrinks; negative if the covariate only adds noise.
    public let varianceReduction: Double

    /// - Parameters:
    ///   - control: The outcome first, the covariate second.
    ///   - treatment: The same for the treatment.
    public init(control: PairedSums, treatment: PairedSums) {
        let both = control + treatment
        let theta = both.first.variance > 0 && both.second.variance > 0 ? both.covariance / both.second.variance : 0
        self.theta = theta
        self.control = Self.adjust(control, theta)
        self.treatment = Self.adjust(treatment, theta)
        let before = Self.variance(Estimate(control.first), Estimate(treatment.first))
        varianceReduction = before > 0 ? 1 - Self.variance(self.control, self.treatment) / before : 0
    }

    private static func adjust(_ sums: PairedSums, _ theta: Double) -> Estimate {
        guard theta != 0 else { return Estimate(sums.first) }
        let variance = sums.first.variance + theta * theta * sums.second.variance - 2 * theta * sums.covariance
        return Estimate(
            count: sums.first.count, mean: sums.first.mean - theta * sums.second.mean,
            variance: sums.first.count > 1 ? variance : 0,
            measuredMean: sums.first.mean)
    }

    private static func variance(_ a: Estimate, _ b: Estimate) -> Double {
        a.count > 0 && b.count > 0 ? a.variance / Double(a.count) + b.variance / Double(b.count) : 0
    }
}
