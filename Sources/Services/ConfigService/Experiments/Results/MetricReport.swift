import MartletStatistics

/// The results of one metric for one variation, compared with the control, which is the first variation.
struct Comparison: Sendable {
    /// An effect on one scale with the results of each test.
    struct Scaled: Sendable {
        let effect: Effect
        let fixed: TestResult
        let sequential: TestResult
        let posterior: Posterior
    }

    let variation: String
    let treatment: Observation
    let absolute: Result<Scaled, Effect.Obstacle>
    let relative: Result<Scaled, Effect.Obstacle>
    let adjustment: Adjustment?
    /// The smallest relative effect that a test of this size detects with the requested power.
    let smallestEffect: Double?
    /// The number of units in both variations together to detect the metric's `minimumEffect`.
    let neededUnits: Int?
    /// The p-value corrected over all metrics and variations (Holm).
    var fixedHolm: Double?
    var sequentialHolm: Double?

    /// The relative scale, or the absolute one if the control's mean is 0.
    var main: Scaled? { (try? relative.get()) ?? (try? absolute.get()) }
}

/// The results of one metric.
struct MetricReport: Sendable {
    let metric: ExperimentDocument.Metric
    let control: Observation
    var comparisons: [Comparison]

    init(_ metric: ExperimentDocument.Metric, _ observations: [String: Observation], in experiment: ExperimentDocument)
    {
        self.metric = metric
        let none = Observation(value: Sums(count: 0, sum: 0))
        let baseline = experiment.variations.first
        control = baseline.flatMap { observations[$0.key] } ?? none
        comparisons = []
        for variation in experiment.variations.dropFirst() {
            comparisons.append(
                Self.compare(
                    control, observations[variation.key] ?? none, variation, metric, experiment.guardRails,
                    share: variation.weight / (variation.weight + (baseline?.weight ?? 0))))
        }
    }

    private static func compare(
        _ control: Observation, _ treatment: Observation, _ variation: ExperimentDocument.Variation,
        _ metric: ExperimentDocument.Metric,
        _ guardRails: ExperimentDocument.GuardRails, share: Double
    ) -> Comparison {
        var (a, b) = (Estimate(control.value), Estimate(treatment.value))
        var adjustment: Adjustment?
        if let first = control.paired, let second = treatment.paired {
            if metric.kind == .ratio {
                (a, b) = (Estimate(ratio: first), Estimate(ratio: second))
            } else {
                let adjusted = Adjustment(control: first, treatment: second)
                (a, b, adjustment) = (adjusted.control, adjusted.treatment, adjusted)
            }
        }
        let relative = scaled(a, b, .relative, metric, guardRails)
        let size = SampleSize(alpha: guardRails.alpha, power: guardRails.power)
        let needed = metric.minimumEffect.flatMap {
            a.measuredMean == 0 || a.variance <= 0
                ? nil
                : size.units(
                    toFind: $0 * a.measuredMean, controlVariance: a.variance, treatmentVariance: a.variance,
                    share: share)
        }
        return Comparison(
            variation: variation.key, treatment: treatment, absolute: scaled(a, b, .absolute, metric, guardRails),
            relative: relative, adjustment: adjustment,
            smallestEffect: (try? relative.get()).map { size.smallestEffect(standardError: $0.effect.standardError) },
            neededUnits: needed)
    }

    private static func scaled(
        _ a: Estimate, _ b: Estimate, _ scale: Effect.Scale, _ metric: ExperimentDocument.Metric,
        _ guardRails: ExperimentDocument.GuardRails
    ) -> Result<Comparison.Scaled, Effect.Obstacle> {
        do throws(Effect.Obstacle) {
            let effect = try Effect(control: a, treatment: b, scale)
            let relative = metric.priorDeviation.map { Prior(mean: metric.priorMean, standardDeviation: $0) }
            let prior =
                scale == .relative ? relative : a.measuredMean == 0 ? nil : relative?.absolute(baseline: a.measuredMean)
            return .success(
                Comparison.Scaled(
                    effect: effect, fixed: effect.fixedHorizon(alpha: guardRails.alpha),
                    sequential: effect.sequential(alpha: guardRails.alpha, tuning: guardRails.tuning),
                    posterior: Posterior(effect, prior: prior)))
        } catch {
            return .failure(error)
        }
    }
}
