import Foundation

public struct Interval: Sendable, Equatable {
    public var lower: Double
    public var upper: Double

    init(around center: Double, _ width: Double) {
        lower = center - width
        upper = center + width
    }
}

/// The difference between treatment and control, with its uncertainty.
public struct Effect: Sendable, Equatable {
    public enum Scale: Sendable {
        case absolute
        /// Relative to the absolute value of the control's measured mean, so that a larger treatment is always a
        /// positive effect.
        case relative
    }

    /// The reason why an effect cannot be computed.
    public enum Obstacle: String, Error, Sendable {
        /// A variation has fewer than two units.
        case tooFewUnits = "too-few-units"
        /// All values of a variation are equal.
        case noVariance = "no-variance"
        /// A relative effect is undefined if the control's mean is 0.
        case zeroBaseline = "zero-baseline"
    }

    public let value: Double
    public let standardError: Double
    /// For the t distribution of `value / standardError`, by Welch and Satterthwaite.
    public let degreesOfFreedom: Double
    /// The number of units in both variations.
    public let count: Int

    /// Welch's (1947) difference of means; the relative one by the delta method.
    public init(control a: Estimate, treatment b: Estimate, _ scale: Scale) throws(Obstacle) {
        guard a.count > 1, b.count > 1 else { throw .tooFewUnits }
        guard a.variance > 0, b.variance > 0 else { throw .noVariance }
        guard scale == .absolute || a.measuredMean != 0 else { throw .zeroBaseline }
        let nA = Double(a.count), nB = Double(b.count), errorA = a.variance / nA, errorB = b.variance / nB
        let difference = b.mean - a.mean
        switch scale {
        case .absolute:
            value = difference
            standardError = (errorA + errorB).squareRoot()
        case .relative:
            let ratio = b.measuredMean / a.measuredMean
            value = difference / abs(a.measuredMean)
            standardError = (errorB + errorA * ratio * ratio).squareRoot() / abs(a.measuredMean)
        }
        degreesOfFreedom = pow(errorA + errorB, 2) / (errorA * errorA / (nA - 1) + errorB * errorB / (nB - 1))
        count = a.count + b.count
    }
}

/// An interval, and the probability of an effect at least this far from 0 if there is none.
public struct TestResult: Sendable, Equatable {
    public let interval: Interval
    public let p: Double
}

extension Effect {
    /// The two-sided t test, valid if it is evaluated once, at a time fixed in advance.
    public func fixedHorizon(alpha: Double = 0.05) -> TestResult {
        let t = StudentT(degreesOfFreedom: degreesOfFreedom)
        let width = t.quantile(1 - alpha / 2) * standardError
        return TestResult(interval: Interval(around: value, width), p: t.twoSided(abs(value) / standardError))
    }

    /// An asymptotic confidence sequence, valid however often it is evaluated while the test runs.
    ///
    /// Equations 9, 155 and 161 of Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, arXiv 2103.06476v7, as GrowthBook uses
    /// them.
    ///
    /// - Parameter tuning: The number of units at which the interval is narrowest.
    public func sequential(alpha: Double = 0.05, tuning: Double = 5_000) -> TestResult {
        let n = Double(count)
        let rhoSquared = (-2 * log(alpha) + log(-2 * log(alpha) + 1)) / tuning
        let growth = n * rhoSquared + 1
        let width = standardError * (2 * growth * log(growth.squareRoot() / alpha) / (n * rhoSquared)).squareRoot()
        let evidence = rhoSquared * n * pow(value / standardError, 2) / (2 * growth)
        return TestResult(interval: Interval(around: value, width), p: min(1, growth.squareRoot() * exp(-evidence)))
    }
}
