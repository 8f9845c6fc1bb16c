import Foundation

/// What is believed of an effect before any data: normally distributed.
public struct Prior: Sendable, Equatable {
    public var mean: Double
    public var standardDeviation: Double

    /// - Parameter standardDeviation: more than 0.
    public init(mean: Double = 0, standardDeviation: Double) {
        self.mean = mean
        self.standardDeviation = standardDeviation
    }

    /// Of relative effects, as one of absolute effects against a control of this mean.
    public func absolute(baseline: Double) -> Prior {
        Prior(mean: mean * abs(baseline), standardDeviation: standardDeviation * abs(baseline))
    }
}

/// What is believed of an effect after the data: the normal distribution that a normal prior and the measured effect
/// make together.
public struct Belief: Sendable, Equatable {
    public let mean: Double
    public let standardDeviation: Double

    /// - Parameter prior: nil: every effect was as likely as any other.
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

    /// What is lost on average by taking the treatment: E[max(−effect, 0)].
    public var riskOfTreatment: Double { Self.expectedLoss(mean, standardDeviation) }

    /// What is missed on average by staying with the control: E[max(effect, 0)].
    public var riskOfControl: Double { Self.expectedLoss(-mean, standardDeviation) }

    /// The effect is inside with the probability 1 − `alpha`, half of the rest on either side.
    public func credibleInterval(alpha: Double = 0.05) -> Interval {
        Interval(around: mean, Normal.upperQuantile(alpha / 2) * standardDeviation)
    }

    private static func expectedLoss(_ mean: Double, _ deviation: Double) -> Double {
        let z = mean / deviation
        return max(0, deviation * (Normal.density(z) - z * Normal.survival(z)))
    }
}
