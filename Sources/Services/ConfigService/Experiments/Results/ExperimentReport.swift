import MartletStatistics

/// The results of an experiment and the checks of their validity.
struct ExperimentReport: Sendable {
    /// A recommended action.
    struct Hint: Sendable {
        enum Advice: String, Sendable {
            /// The assignment or the counting is broken, so the results are not valid.
            case distrust
            /// There is not enough data yet.
            case wait
            /// Choose the variation: it is better than the control.
            case take
            /// Keep the control: it is better than every variation, or an effect that matters would have been found by
            /// now.
            case stay
        }

        let advice: Advice
        /// The variation to choose.
        var variation: String?
        let reason: String
    }

    struct GuardRail: Sendable {
        let code: String
        let isMet: Bool
        let message: String
    }

    /// The minimum number of units per variation for the chi-squared test to be valid.
    private static let minimumForRatio = 8.0

    let experiment: ExperimentDocument
    /// The number of units by variation.
    let units: [String: Int]
    /// Units that were given more than one variation and count for none.
    let multipleExposures: Int
    /// Nil if analytics was not asked or did not answer.
    let seen: MeasuredExperiment.Seen?
    /// Nil if there are too few units, or if the weights changed while the experiment ran.
    let sampleRatioP: Double?
    private(set) var metrics: [MetricReport]

    init(
        _ experiment: ExperimentDocument, units: [String: Int], multipleExposures: Int,
        seen: MeasuredExperiment.Seen? = nil,
        _ observations: [(metric: String, [String: Observation])]
    ) {
        self.experiment = experiment
        self.units = units
        self.multipleExposures = multipleExposures
        self.seen = seen
        let counts = experiment.variations.map { units[$0.key] ?? 0 }, weights = experiment.variations.map(\.weight)
        let total = Double(counts.reduce(0, +)), weight = weights.reduce(0, +)
        sampleRatioP =
            experiment.phase == 0 && weights.allSatisfy { $0 / weight * total >= Self.minimumForRatio }
            ? MartletStatistics.sampleRatioP(counts: counts, weights: weights) : nil
        metrics = experiment.metrics.compactMap { metric in
            observations.last { $0.metric == metric.name }.map { MetricReport(metric, $0.1, in: experiment) }
        }
        correct()
    }

    /// Applies Holm's correction over all comparisons.
    private mutating func correct() {
        let places = metrics.indices.flatMap { metric in metrics[metric].comparisons.indices.map { (metric, $0) } }
            .filter { metrics[$0].comparisons[$1].main != nil }
        let tests = places.compactMap { metrics[$0].comparisons[$1].main }
        for (place, p) in zip(places, holm(tests.map(\.fixed.p))) {
            metrics[place.0].comparisons[place.1].fixedHolm = p
        }
        for (place, p) in zip(places, holm(tests.map(\.sequential.p))) {
            metrics[place.0].comparisons[place.1].sequentialHolm = p
        }
    }

    // MARK: Guard rails

    var guardRails: [GuardRail] {
        let limits = experiment.guardRails
        let least = experiment.variations.map { units[$0.key] ?? 0 }.min() ?? 0
        let ratio = sampleRatioP.map {
            "The probability of such a split by chance is \($0); a value below \(limits.sampleRatioThreshold) means that something is broken."
        }
        return [
            GuardRail(
                code: "enough-data", isMet: least >= limits.minimumUnits,
                message: "The smallest variation has \(least) of the required \(limits.minimumUnits) units."),
            GuardRail(code: "sample-ratio", isMet: !isSplitBroken, message: ratio ?? unknownRatio),
            GuardRail(
                code: "single-variation", isMet: multipleExposures * 100 <= units.values.reduce(multipleExposures, +),
                message:
                    "\(multipleExposures) units were given more than one variation and are left out; more than 1 % is suspicious."
            ),
        ] + (seen.map(guardRails) ?? [])
    }

    /// Checks that analytics saw units, and in no variation more than were exposed; a surplus of 1 % is tolerated.
    private func guardRails(_ seen: MeasuredExperiment.Seen) -> [GuardRail] {
        let all = seen.units.values.reduce(seen.multipleExposures, +)
        let surplus = experiment.variations.first { (seen.units[$0.key] ?? 0) > (units[$0.key] ?? 0) * 101 / 100 + 1 }
        let message =
            if let surplus {
                "Analytics saw \(seen.units[surplus.key] ?? 0) persons with \(surplus.key), but only \(units[surplus.key] ?? 0) units were given it. Either the units of the experiment are not persons, or events report outdated variations."
            } else if all == 0 {
                "No event reports a variation. Send the value of the header Experiments with events, and identify persons by the unit's id."
            } else {
                "Analytics saw \(all) persons of \(units.values.reduce(multipleExposures, +)) units."
            }
        return [
            GuardRail(
                code: "units-seen", isMet: surplus == nil && (all > 0 || units.values.allSatisfy { $0 == 0 }),
                message: message),
            GuardRail(
                code: "single-variation-seen", isMet: seen.multipleExposures * 100 <= all,
                message:
                    "Events of \(seen.multipleExposures) persons report more than one variation; these persons count as 0. More than 1 % is suspicious."
            ),
        ]
    }

    private var unknownRatio: String {
        experiment.phase > 0
            ? "Participation changed while the experiment ran (phase \(experiment.phase)). Some units were split by the old weights and some by the new ones, so the split cannot be tested."
            : "There are too few units to test whether they are split by the weights."
    }

    private var isSplitBroken: Bool { sampleRatioP.map { $0 < experiment.guardRails.sampleRatioThreshold } ?? false }

    // MARK: Hints

    /// The recommendation, based on the first metric.
    var hint: Hint {
        metrics.first.map(hint) ?? Hint(advice: .wait, reason: "There are no observations of any metric yet.")
    }

    func hint(of report: MetricReport) -> Hint {
        if let broken = guardRails.first(where: { !$0.isMet && $0.code != "enough-data" }) {
            return Hint(advice: .distrust, reason: broken.message)
        }
        if let early = guardRails.first(where: { !$0.isMet }) { return Hint(advice: .wait, reason: early.message) }
        let least = report.comparisons.map(\.treatment.value.count).reduce(report.control.value.count, min)
        guard least >= experiment.guardRails.minimumUnits else {
            return Hint(advice: .wait, reason: "The metric has only \(least) observed units in its smallest variation.")
        }
        let alpha = experiment.guardRails.alpha
        let sign: Double = report.metric.isLessBetter ? -1 : 1
        let found = report.comparisons.filter { ($0.sequentialHolm ?? 1) <= alpha }
        let better = found.filter { ($0.main?.effect.value ?? 0) * sign > 0 }
        if let best = better.max(by: { ($0.main?.effect.value ?? 0) * sign < ($1.main?.effect.value ?? 0) * sign }) {
            let reason =
                "Better than the control: the sequential p, corrected over all metrics and variations, is \(best.sequentialHolm ?? 1)."
            return Hint(advice: .take, variation: best.variation, reason: reason)
        }
        if !found.isEmpty, found.count == report.comparisons.count {
            return Hint(advice: .stay, reason: "Every variation is worse than the control.")
        }
        if let minimum = report.metric.minimumEffect, report.comparisons.allSatisfy({ excludes(minimum, $0, sign) }) {
            return Hint(
                advice: .stay,
                reason: "The sequential intervals rule out that any variation is better by \(minimum) or more.")
        }
        let needed = report.comparisons.compactMap(\.neededUnits).max().map {
            " Control and variation together need \($0) units to detect the smallest effect that matters."
        }
        return Hint(advice: .wait, reason: "No difference can be distinguished from chance yet." + (needed ?? ""))
    }

    private func excludes(_ minimum: Double, _ comparison: Comparison, _ sign: Double) -> Bool {
        guard let interval = (try? comparison.relative.get())?.sequential.interval else { return false }
        return sign > 0 ? interval.upper < minimum : interval.lower > -minimum
    }
}
