import Foundation

/// A normal distribution of an effect, assumed before any data.
public struct Prior: Sendable, Equatable {
    public var mean: Double
    public var standardDeviation: Double

    /// - Parameter standardDeviation: Must be positive.
    public init(mean: Double = 0, standardDeviation: Double) {
        self.mean = mean
        self.standardDeviation = standardDeviation
    }

    /// Converts a prior of relative effects to one of absolute effects, for a control with this mean.
    public func absolute(baseline: Double) -> Prior {
        Prior(mean: mean * abs(baseline), standardDeviation: standardDeviation * abs(baseline))
    }
}

/// The posterior distribution of an effect: the normal distribution that results from a normal prior and the measured
/// effect.
public struct Posterior: Sendable, Equatable {
    public let mean: Double
    public let standardDeviation: Double

    /// - Parameter prior: Nil for a flat prior.
    public init(_ effect: Effect, prior: Prior? = nil) {
        let dataPrecision = 1 / (effect.standardError * effect.standardError)
        guard let prior else {
            mean = effect.value
            standardDeviation = effect.standardError
            return
        }
        let priorPrecision = 1 / (prior.standardDeviation * prior.standardDeviation)
        mean = (effect.value * dataPrecision + prior.mean * priorPrecision) / (dataPrecision + priorPrecision)
        standardDeviation = (1 / (dataPrecision + priorPrecision)).squareRoot()
    }

    /// P(effect > 0)
    public var chanceToWin: Double { Normal.cdf(mean / standardDeviation) }

    /// The expected loss from choosing the treatment: E[max(−effect, 0)].
    public var riskOfTreatment: Double { Self.expectedLoss(mean, standardDeviation) }

    /// The expected loss from keeping the control: E[max(effect, 0)].
    public var riskOfControl: Double { Self.expectedLoss(-mean, standardDeviation) }

    /// The interval that contains the effect with probability 1 − `alpha`, with `alpha` / 2 in each tail.
    public func credibleInterval(alpha: Double = 0.05) -> Interval {
        Interval(around: mean, Normal.upperQuantile(alpha / 2) * standardDeviation)
    }

    private static func expectedLoss(_ mean: Double, _ deviation: Double) -> Double {
        let z = mean / deviation
        return max(0, deviation * (Normal.density(z) - z * Normal.survival(z)))
    }
}
