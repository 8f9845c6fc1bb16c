import Foundation
import MartletCore
import MartletFlags

/// A test of variations of an app's configuration or flags against each other, as its document describes it.
struct ExperimentDocument: Sendable {
    enum State: String, Sendable, CaseIterable {
        case draft, running, stopped, decided
    }

    /// Who is given a variation, and keeps it.
    enum Unit: String, Sendable, CaseIterable {
        case user, device

        /// Among the attributes that conditions look at.
        var attribute: String { self == .user ? "userId" : "deviceId" }
    }

    struct Variation: Sendable {
        var key: String
        var name: String
        var weight: Double
        /// Nil: what is live.
        var configuration: PinnedVersion?
        /// What flags answer instead.
        var flags: [JSONValue.Member]
    }

    struct Metric: Sendable {
        enum Kind: String, Sendable, CaseIterable {
            case proportion, mean, ratio
        }

        var name: String
        var kind: Kind
        var isLessBetter: Bool
        var hasCovariate: Bool
        /// Whose sums analytics is asked for; nil: they are sent.
        var event: String?
        /// A number among the event's properties that is added up; nil: events are counted.
        var property: String?
        /// Of a ratio.
        var denominatorEvent: String?
        /// How long before a unit's exposure its covariate is counted.
        var covariateDays: Int
        /// The smallest relative effect that matters; nil: not said.
        var minimumEffect: Double?
        /// Of relative effects.
        var priorMean: Double
        /// Nil: any effect is as likely as any other.
        var priorDeviation: Double?
    }

    /// A part of the units, so that experiments which share the name and not the part have no unit in common.
    struct Exclusion: Sendable, Equatable {
        var name: String
        var start: Double
        var end: Double
    }

    struct Holdout: Sendable, Equatable {
        var seed: String
        var share: Double
    }

    struct GuardRails: Sendable {
        var minimumUnits = 100
        var sampleRatioThreshold = 0.001
        var alpha = 0.05
        var power = 0.8
        /// The number of units at which sequential intervals are narrowest.
        var tuning = 5_000.0
    }

    var title = ""
    var state = State.draft
    /// Nil: of any; of the configuration, where one is tested.
    var appVersion: String?
    /// The configuration that variations are served instead of.
    var configuration: String?
    var variations: [Variation] = []
    var coverage = 1.0
    var start: Date?
    var end: Date?
    var unit = Unit.user
    var seed = ""
    var condition = Condition.always
    /// For comparing.
    var conditionText = "{}"
    var exclusion: Exclusion?
    var holdout: Holdout?
    var isSticky = true
    /// Raised when who takes part changes while the experiment runs: from then on each answer looks up what the unit
    /// was given before.
    var phase = 0
    /// Raised to assign everybody anew; results begin anew, too.
    var bucketVersion = 0
    /// Units that were given a variation under an older version take part no more.
    var minimumBucketVersion = 0
    var metrics: [Metric] = []
    var guardRails = GuardRails()
    /// The variation that won; nil: none yet.
    var decision: String?
    var decidedAt: Date?
    var stoppedAt: Date?

    /// Whether what a unit was given before has to be looked up, and hashing alone does not tell.
    var needsHistory: Bool { (isSticky && phase > 0) || minimumBucketVersion > 0 }

    func isRunning(at date: Date) -> Bool {
        state == .running && start.map { date >= $0 } ?? true && end.map { date < $0 } ?? true
    }

    /// What exposures and observations call an experiment: its name, and of one that was made again after it was
    /// deleted also the version with which it began. No name has a `~`.
    static func id(of name: String, from firstVersion: Int) -> String {
        firstVersion > 1 ? "\(name)~\(firstVersion)" : name
    }

    /// As the flag engine evaluates it, after GrowthBook.
    func experiment(named name: String) -> Experiment {
        var experiment = Experiment(key: name, variations: variations.map { FeatureValue(.string($0.key)) })
        experiment.variationNames = variations.map { Experiment.VariationName(key: $0.key) }
        experiment.weights = variations.map(\.weight)
        experiment.coverage = coverage
        experiment.hashAttribute = unit.attribute
        experiment.hashVersion = FlagHash.version2.rawValue
        experiment.seed = seed.isEmpty ? name : seed
        experiment.filters = filters
        experiment.condition = condition
        experiment.bucketVersion = bucketVersion
        experiment.minimumBucketVersion = minimumBucketVersion
        experiment.isNeverSticky = !needsHistory
        return experiment
    }

    private var filters: [BucketFilter] {
        var filters: [BucketFilter] = []
        if let exclusion {
            filters.append(
                BucketFilter(
                    seed: "namespace:" + exclusion.name, ranges: [BucketRange(exclusion.start, exclusion.end)],
                    attribute: unit.attribute))
        }
        if let holdout {
            filters.append(
                BucketFilter(
                    seed: "holdout:" + holdout.seed, ranges: [BucketRange(holdout.share, 1)], attribute: unit.attribute)
            )
        }
        return filters
    }
}
