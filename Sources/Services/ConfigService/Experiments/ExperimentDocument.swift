import Foundation
import MartletCore
import MartletFlags

/// A parsed experiment document: a test of variations of an app's configuration or flags against each other.
struct ExperimentDocument: Sendable {
    enum State: String, Sendable, CaseIterable {
        case draft, running, stopped, decided
    }

    /// The subjects that get a variation and keep it.
    enum Unit: String, Sendable, CaseIterable {
        case user, device

        /// The name of the unit's id among the attributes for conditions.
        var attribute: String { self == .user ? "userId" : "deviceId" }
    }

    struct Variation: Sendable {
        var key: String
        var name: String
        var weight: Double
        /// Nil for the live version.
        var configuration: PinnedVersion?
        /// The values that replace the flags' own.
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
        /// The event that analytics counts; nil if the sums are sent to the API.
        var event: String?
        /// A numeric property of the event to add up; nil to count events.
        var property: String?
        /// For ratios only.
        var denominatorEvent: String?
        /// The number of days before a unit's exposure that count for its covariate.
        var covariateDays: Int
        /// The smallest relative effect that matters; nil if not given.
        var minimumEffect: Double?
        /// The mean of the prior of relative effects.
        var priorMean: Double
        /// Nil for a flat prior.
        var priorDeviation: Double?
    }

    /// A range of the units. Experiments with the same name and disjoint ranges have no unit in common.
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
    /// The app version of the experiment or of its tested configuration; nil for all.
    var appVersion: String?
    /// The configuration that the variations replace.
    var configuration: String?
    var variations: [Variation] = []
    var coverage = 1.0
    var start: Date?
    var end: Date?
    var unit = Unit.user
    var seed = ""
    var condition = Condition.always
    /// The condition's text, to detect changes.
    var conditionText = "{}"
    var exclusion: Exclusion?
    var holdout: Holdout?
    var isSticky = true
    /// Increased when participation changes while the experiment runs. From then on each answer looks up the unit's
    /// earlier variation.
    var phase = 0
    /// Increased to reassign all units. Results start over.
    var bucketVersion = 0
    /// Units that were given a variation under an older bucket version no longer take part.
    var minimumBucketVersion = 0
    var metrics: [Metric] = []
    var guardRails = GuardRails()
    /// The winning variation; nil if none was chosen yet.
    var decision: String?
    var decidedAt: Date?
    var stoppedAt: Date?

    /// Whether a unit's earlier variations must be looked up because the hash alone does not determine the variation.
    var needsHistory: Bool { (isSticky && phase > 0) || minimumBucketVersion > 0 }

    func isRunning(at date: Date) -> Bool {
        state == .running && start.map { date >= $0 } ?? true && end.map { date < $0 } ?? true
    }

    /// The id of an experiment in exposures and observations: its name, followed by `~` and its first version if it was
    /// created again after a deletion. Names never contain `~`.
    static func id(of name: String, from firstVersion: Int) -> String {
        firstVersion > 1 ? "\(name)~\(firstVersion)" : name
    }

    /// The experiment in the form that the flag engine evaluates, after GrowthBook.
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
