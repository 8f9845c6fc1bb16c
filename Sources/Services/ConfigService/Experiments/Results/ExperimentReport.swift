import MartletStatistics

/// What the data say of an experiment, and whether they may be believed.
struct ExperimentReport: Sendable {
    /// What to do now.
    struct Hint: Sendable {
        enum Advice: String, Sendable {
            /// The assignment or the counting is broken.
            case distrust
            /// It is too early to tell.
            case wait
            /// A variation is better.
            case take
            /// The control is better than every variation, or an effect that matters would have been found by now.
            case stay
        }

        let advice: Advice
        /// The variation to take.
        var variation: String?
        let reason: String
    }

    struct GuardRail: Sendable {
        let code: String
        let isMet: Bool
        let message: String
    }

    /// The fewest units of a variation of which the chi-squared test is good.
    private static let minimumForRatio = 8.0

    let experiment: ExperimentDocument
    /// By variation.
    let units: [String: Int]
    /// Units that were given more than one variation and belong to none.
    let multipleExposures: Int
    /// Nil: analytics was not asked, or did not answer.
    let seen: MeasuredExperiment.Seen?
    /// Nil: too few to tell, or some were given their variation by other weights.
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

    /// Holm's correction over every comparison there is.
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
        let rails = experiment.guardRails
        let least = experiment.variations.map { units[$0.key] ?? 0 }.min() ?? 0
        let ratio = sampleRatioP.map {
            "The probability of such a split by chance is \($0); below \(rails.sampleRatioThreshold) something is broken."
        }
        return [
            GuardRail(
                code: "enough-data", isMet: least >= rails.minimumUnits,
                message: "The smallest variation has \(least) units of \(rails.minimumUnits)."),
            GuardRail(code: "sample-ratio", isMet: !isSplitBroken, message: ratio ?? unknownRatio),
            GuardRail(
                code: "single-variation", isMet: multipleExposures * 100 <= units.values.reduce(multipleExposures, +),
                message:
                    "\(multipleExposures) units were given more than one variation and are left out; more than 1 % is suspicious."
            ),
        ] + (seen.map(guardRails) ?? [])
    }

    /// Whether those who were seen are those who were given something.
    private func guardRails(_ seen: MeasuredExperiment.Seen) -> [GuardRail] {
        let all = seen.units.values.reduce(seen.multipleExposures, +)
        let strange = experiment.variations.first { (seen.units[$0.key] ?? 0) > (units[$0.key] ?? 0) * 101 / 100 + 1 }
        let message =
            if let strange {
                "Events of \(seen.units[strange.key] ?? 0) persons say \(strange.key), which only \(units[strange.key] ?? 0) units were given: persons are no units, or events say what is long over."
            } else if all == 0 {
                "No event says which variation its person was given: send what the header Experiments says along, and events by the unit's id."
            } else {
                "\(all) persons of \(units.values.reduce(multipleExposures, +)) units were seen."
            }
        return [
            GuardRail(
                code: "units-seen", isMet: strange == nil && (all > 0 || units.values.allSatisfy { $0 == 0 }),
                message: message),
            GuardRail(
                code: "single-variation-seen", isMet: seen.multipleExposures * 100 <= all,
                message:
                    "Events of \(seen.multipleExposures) persons say more than one variation; they count with 0. More than 1 % is suspicious."
            ),
        ]
    }

    private var unknownRatio: String {
        experiment.phase > 0
            ? "Who takes part was changed while it ran (phase \(experiment.phase)): units are split by the weights of then and of now, which cannot be tested."
            : "There are too few units to tell whether they are split by the weights."
    }

    private var isSplitBroken: Bool { sampleRatioP.map { $0 < experiment.guardRails.sampleRatioThreshold } ?? false }

    // MARK: Hints

    /// By the first metric.
    var hint: Hint { metrics.first.map(hint) ?? Hint(advice: .wait, reason: "Nothing was observed of any metric yet.") }

    func hint(of report: MetricReport) -> Hint {
        if let broken = guardRails.first(where: { !$0.isMet && $0.code != "enough-data" }) {
            return Hint(advice: .distrust, reason: broken.message)
        }
        if let early = guardRails.first(where: { !$0.isMet }) { return Hint(advice: .wait, reason: early.message) }
        let least = report.comparisons.map(\.treatment.value.count).reduce(report.control.value.count, min)
        guard least >= experiment.guardRails.minimumUnits else {
            return Hint(advice: .wait, reason: "The metric was observed of \(least) units in its smallest variation.")
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
                reason: "The sequential intervals exclude that any variation is better by \(minimum) or more.")
        }
        let needed = report.comparisons.compactMap(\.neededUnits).max().map {
            " \($0) units of control and variation are needed for the smallest effect that matters."
        }
        return Hint(advice: .wait, reason: "Nothing can be told from chance yet." + (needed ?? ""))
    }

    private func excludes(_ minimum: Double, _ comparison: Comparison, _ sign: Double) -> Bool {
        guard let interval = (try? comparison.relative.get())?.sequential.interval else { return false }
        return sign > 0 ? interval.upper < minimum : interval.lower > -minimum
    }
}
