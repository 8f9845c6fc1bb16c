import MartletCore
import MartletStatistics

extension JSONValue {
    /// Null if the number is not finite.
    static func real(_ number: Double?) -> JSONValue {
        guard let number, number.isFinite else { return .null }
        return .number("\(number)")
    }

    static func count(_ number: Int?) -> JSONValue { number.map { .number(String($0)) } ?? .null }
}

extension ExperimentReport {
    /// The members of the `results` answer, without those about the source of the data.
    var members: [JSONValue.Member] {
        [
            .init("units", .object(experiment.variations.map { .init($0.key, .count(units[$0.key] ?? 0)) })),
            .init("multipleExposures", .count(multipleExposures)), .init("sampleRatioP", .real(sampleRatioP)),
            .init("guardRails", .array(guardRails.map(\.json))), .init("hint", hint.json),
            .init(
                "metrics",
                .array(
                    metrics.map {
                        $0.json(
                            hint(of: $0), experiment.variations.first?.key ?? "", alpha: experiment.guardRails.alpha)
                    })),
        ]
    }
}

extension ExperimentReport.GuardRail {
    fileprivate var json: JSONValue {
        .object([.init("code", .string(code)), .init("met", .bool(isMet)), .init("message", .string(message))])
    }
}

extension ExperimentReport.Hint {
    fileprivate var json: JSONValue {
        .object([
            .init("advice", .string(advice.rawValue)), .init("variation", variation.map { .string($0) } ?? .null),
            .init("reason", .string(reason)),
        ])
    }
}

extension MetricReport {
    fileprivate func json(_ hint: ExperimentReport.Hint, _ baseline: String, alpha: Double) -> JSONValue {
        .object([
            .init("name", .string(metric.name)), .init("kind", .string(metric.kind.rawValue)),
            .init("goal", .string(metric.isLessBetter ? "decrease" : "increase")),
            .init("hint", hint.json),
            .init(
                "control",
                .object([
                    .init("variation", .string(baseline)), .init("units", .count(control.value.count)),
                    .init("mean", .real(mean(control))),
                ])),
            .init("variations", .array(comparisons.map { json($0, alpha: alpha) })),
        ])
    }

    private func json(_ comparison: Comparison, alpha: Double) -> JSONValue {
        .object([
            .init("variation", .string(comparison.variation)), .init("units", .count(comparison.treatment.value.count)),
            .init("mean", .real(mean(comparison.treatment))), .init("relative", json(comparison.relative, alpha)),
            .init("absolute", json(comparison.absolute, alpha)), .init("fixedPHolm", .real(comparison.fixedHolm)),
            .init("sequentialPHolm", .real(comparison.sequentialHolm)),
            .init("adjustment", comparison.adjustment.map(Self.json) ?? .null),
            .init("smallestEffect", .real(comparison.smallestEffect)),
            .init("neededUnits", .count(comparison.neededUnits)),
        ])
    }

    private func mean(_ observation: Observation) -> Double {
        metric.kind == .ratio ? observation.paired.map { Estimate(ratio: $0).mean } ?? 0 : observation.value.mean
    }

    private func json(_ result: Result<Comparison.Scaled, Effect.Obstacle>, _ alpha: Double) -> JSONValue {
        switch result {
        case .failure(let obstacle): .object([.init("obstacle", .string(obstacle.rawValue))])
        case .success(let scaled):
            .object([
                .init("effect", .real(scaled.effect.value)), .init("standardError", .real(scaled.effect.standardError)),
                .init("fixed", scaled.fixed.json), .init("sequential", scaled.sequential.json),
                .init("bayesian", json(scaled.posterior, alpha)),
            ])
        }
    }

    /// The probability of being better; for some metrics, less is better.
    private func json(_ posterior: Posterior, _ alpha: Double) -> JSONValue {
        let isLess = metric.isLessBetter
        return .object([
            .init("mean", .real(posterior.mean)),
            .init("chanceToWin", .real(isLess ? 1 - posterior.chanceToWin : posterior.chanceToWin)),
            .init("interval", posterior.credibleInterval(alpha: alpha).json),
            .init("riskOfTaking", .real(isLess ? posterior.riskOfControl : posterior.riskOfTreatment)),
            .init("riskOfStaying", .real(isLess ? posterior.riskOfTreatment : posterior.riskOfControl)),
        ])
    }

    private static func json(_ adjustment: Adjustment) -> JSONValue {
        .object([
            .init("theta", .real(adjustment.theta)), .init("varianceReduction", .real(adjustment.varianceReduction)),
        ])
    }
}

extension Interval {
    var json: JSONValue { .array([.real(lower), .real(upper)]) }
}

extension TestResult {
    var json: JSONValue { .object([.init("interval", interval.json), .init("p", .real(p))]) }
}
