/// What `config` asks `analytics` of an experiment: sums over the units that were given its variations.
///
/// Wire shape of `POST /internal/analytics/experiments`. Answered with `ExperimentSums`.
public struct ExperimentQuestion: Codable, Sendable, Equatable {
    public static let maximumVariations = 20
    public static let maximumMetrics = 20
    public static let maximumCovariateDays = 90

    public var appID: String
    public var environment: AppEnvironment
    /// Name and variations as events carry them: `checkout=dark`.
    public var experiment: String
    public var variations: [String]
    /// When events happened, in seconds since 1970; the end does not belong to it.
    public var from: Int
    public var to: Int
    public var metrics: [Metric]

    public init(
        appID: String, environment: AppEnvironment, experiment: String, variations: [String], from: Int, to: Int,
        metrics: [Metric]
    ) {
        self.appID = appID
        self.environment = environment
        self.experiment = experiment
        self.variations = variations
        self.from = from
        self.to = to
        self.metrics = metrics
    }

    public struct Metric: Codable, Sendable, Equatable {
        public enum Kind: String, Codable, Sendable {
            /// 1 for a unit that had the event, else 0.
            case proportion
            /// How often a unit had it, or the sum of its property.
            case mean
            /// The same over how often it had the other event.
            case ratio
        }

        public var name: String
        public var kind: Kind
        public var event: String
        /// A number among the event's properties that is added up; nil: events are counted.
        public var property: String?
        /// Of a ratio: the event that is counted below the line.
        public var denominatorEvent: String?
        /// Not of a ratio: the same of so many days before the unit was given its variation is its covariate; nil:
        /// there is none.
        public var covariateDays: Int?

        public init(
            name: String, kind: Kind, event: String, property: String? = nil, denominatorEvent: String? = nil,
            covariateDays: Int? = nil
        ) {
            self.name = name
            self.kind = kind
            self.event = event
            self.property = property
            self.denominatorEvent = denominatorEvent
            self.covariateDays = covariateDays
        }
    }
}

/// The answer. A unit is a person who had an event that carries a variation; it counts from the first such event on.
public struct ExperimentSums: Codable, Sendable, Equatable {
    /// By variation.
    public var units: [String: Int]
    /// Units that were given more than one variation and belong to none.
    public var multipleExposures: Int
    /// Metric → variation → sums, as `PUT …/metrics/{metric}/observations` of `config` takes them.
    public var metrics: [String: [String: Sums]]

    public init(units: [String: Int], multipleExposures: Int, metrics: [String: [String: Sums]]) {
        self.units = units
        self.multipleExposures = multipleExposures
        self.metrics = metrics
    }

    public struct Sums: Codable, Sendable, Equatable {
        public var units: Int
        public var sum: Double
        /// Not of a proportion.
        public var sumOfSquares: Double?
        public var denominator: Pair?
        /// Of what was known of the units before.
        public var covariate: Pair?
        /// With the denominator or the covariate.
        public var sumOfProducts: Double?

        public init(
            units: Int, sum: Double, sumOfSquares: Double? = nil, denominator: Pair? = nil, covariate: Pair? = nil,
            sumOfProducts: Double? = nil
        ) {
            self.units = units
            self.sum = sum
            self.sumOfSquares = sumOfSquares
            self.denominator = denominator
            self.covariate = covariate
            self.sumOfProducts = sumOfProducts
        }
    }

    public struct Pair: Codable, Sendable, Equatable {
        public var sum: Double
        public var sumOfSquares: Double

        public init(sum: Double, sumOfSquares: Double) {
            self.sum = sum
            self.sumOfSquares = sumOfSquares
        }
    }
}
