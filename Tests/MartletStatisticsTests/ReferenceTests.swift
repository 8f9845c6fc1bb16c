import Foundation
import MartletStatistics
import Testing

/// Compares with PyPI's `gbstats` 0.8.0 and scipy on random samples.
@Suite struct ReferenceTests {
    private static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap {
        $0.isEmpty ? nil : $0
    }

    @Test(.enabled(if: python != nil))
    func `Effects, intervals, posteriors, sample ratios and sizes agree with gbstats and scipy`() async throws {
        let cases = try await ReferenceCase.all(seed: 20_261_122, count: 7_000, python: try #require(Self.python))
        #expect(cases.count == 7_000)
        for (line, item) in cases.enumerated() {
            let differences = try Self.differences(item)
            #expect(differences.isEmpty, "line \(line + 1): \(differences)")
        }
    }

    /// The differences from the reference.
    private static func differences(_ item: ReferenceCase) throws -> [String] {
        switch item.kind {
        case "sampleRatio": try ratio(item)
        case "size": try size(item)
        case "distributions": try distributions(item)
        default: try effect(item)
        }
    }

    private static func ratio(_ item: ReferenceCase) throws -> [String] {
        let p = sampleRatioP(counts: try #require(item.counts), weights: try #require(item.weights))
        return close(p, try #require(item.p), relative: 1e-11) ? [] : ["p \(p), not \(item.p ?? 0)"]
    }

    private static func size(_ item: ReferenceCase) throws -> [String] {
        let size = SampleSize(alpha: try #require(item.alpha), power: try #require(item.power))
        let variances = try #require(item.variances), share = try #require(item.share),
            effect = try #require(item.effect)
        let units = size.units(
            toFind: effect, controlVariance: variances[0], treatmentVariance: variances[1], share: share)
        let expected = try #require(item.units)
        // With the needed number of units, the smallest detectable effect is the requested effect.
        let error = (variances[0] / ((1 - share) * expected) + variances[1] / (share * expected)).squareRoot()
        return (units == Int(expected.rounded(.up)) ? [] : ["units \(units ?? 0)"])
            + (close(size.smallestEffect(standardError: error), effect) ? [] : ["smallest effect"])
    }

    private static func distributions(_ item: ReferenceCase) throws -> [String] {
        let t = StudentT(degreesOfFreedom: try #require(item.degreesOfFreedom))
        let probability = try #require(item.probability), x = try #require(item.x)
        return try different([
            ("normalQuantile", Normal.quantile(probability), item.normalQuantile),
            ("normalCDF", Normal.cdf(x), item.normalCDF),
            ("tQuantile", t.quantile(probability), item.tQuantile), ("tCDF", t.cdf(x), item.tCDF),
        ])
    }

    private static func effect(_ item: ReferenceCase) throws -> [String] {
        let (control, treatment, theta) = try estimates(item)
        let effect = try Effect(
            control: control, treatment: treatment, item.scale == "relative" ? .relative : .absolute)
        // gbstats 0.8.0 divides by the control's mean. Later versions and Martlet divide by its absolute value.
        let sign: Double = item.scale == "relative" && control.measuredMean < 0 ? -1 : 1
        let alpha = try #require(item.alpha)
        let fixed = effect.fixedHorizon(alpha: alpha)
        let sequential = effect.sequential(alpha: alpha, tuning: try #require(item.tuning))

        var wrong = try different([
            ("theta", theta, item.theta ?? 0), ("effect", sign * effect.value, item.effect),
            ("error", effect.standardError, item.error),
            ("p", fixed.p, item.exactP), ("sequentialP", sequential.p, item.sequentialP),
        ])
        // gbstats computes p as 1 − cdf, which has an absolute error.
        if !close(fixed.p, try #require(item.p), absolute: 1e-15) { wrong.append("p \(fixed.p), not \(item.p ?? 0)") }
        for (name, ours, theirs) in [
            ("interval", fixed.interval, item.interval),
            ("sequentialInterval", sequential.interval, item.sequentialInterval),
        ] {
            let ends = try #require(theirs).map { sign * $0 }.sorted()
            if !close(ours, ends) { wrong.append("\(name) \(ours), not \(ends)") }
        }
        return wrong + (sign < 0 ? [] : try posterior(item, effect, control))
    }

    private static func posterior(_ item: ReferenceCase, _ effect: Effect, _ control: Estimate) throws -> [String] {
        let relative = item.prior.map { Prior(mean: $0[0], standardDeviation: $0[1]) }
        let posterior = Posterior(
            effect, prior: item.scale == "relative" ? relative : relative?.absolute(baseline: control.measuredMean))
        let values = try #require(item.posterior), risk = try #require(item.risk)
        // gbstats computes the loss in the tail as a mean times a probability, which has an absolute error.
        let absolute = 1e-15 * max(abs(posterior.mean), posterior.standardDeviation)
        let risks =
            close(posterior.riskOfControl, risk[0], absolute: absolute)
            && close(posterior.riskOfTreatment, risk[1], absolute: absolute)
        return try different([
            ("posterior", posterior.mean, values[0]), ("posterior", posterior.standardDeviation, values[1]),
            ("chance", posterior.chanceToWin, item.chance),
        ])
            + (close(posterior.credibleInterval(alpha: try #require(item.alpha)), try #require(item.credible))
                ? [] : ["credible interval"])
            + (risks ? [] : ["risks \(posterior.riskOfControl), \(posterior.riskOfTreatment), not \(risk)"])
    }

    private static func estimates(_ item: ReferenceCase) throws -> (
        control: Estimate, treatment: Estimate, theta: Double
    ) {
        let samples = try #require(item.samples)
        switch item.kind {
        case "ratio":
            return (
                Estimate(ratio: try #require(samples[0].paired)), Estimate(ratio: try #require(samples[1].paired)), 0
            )
        case "adjusted":
            let adjustment = Adjustment(
                control: try #require(samples[0].paired), treatment: try #require(samples[1].paired))
            return (adjustment.control, adjustment.treatment, adjustment.theta)
        default: return (Estimate(samples[0].first.sums), Estimate(samples[1].first.sums), 0)
        }
    }

    private static func different(_ pairs: [(String, Double, Double?)]) throws -> [String] {
        try pairs.filter { !close($0.1, try #require($0.2)) }.map { "\($0.0) \($0.1), not \($0.2 ?? 0)" }
    }
}
