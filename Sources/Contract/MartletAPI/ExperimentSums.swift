/// A request from `config` to `analytics` for the results of an experiment: sums over the units that were assigned to
/// its variations.
///
/// Wire shape of `POST /internal/analytics/experiments`. The answer is `ExperimentSums`.
public struct ExperimentQuestion: Codable, Sendable, Equatable {
    public static let maximumVariations = 20
    public static let maximumMetrics = 20
    public static let maximumCovariateDays = 90

    public var appID: String
    public var environment: AppEnvironment
    /// Name and variation as recorded in events: `checkout=dark`.
    public var experiment: String
    public var variations: [String]
    /// The range of event times, in seconds since 1970; the end is exclusive.
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
            /// 1 for a unit with at least one such event, otherwise 0.
            case proportion
            /// The number of a unit's events, or the sum of `property` over them.
            case mean
            /// The same, divided by the number of the unit's `denominatorEvent`s.
            case ratio
        }

        public var name: String
        public var kind: Kind
        public var event: String
        /// The numeric event property to sum; nil counts events.
        public var property: String?
        /// The event counted in the denominator; only for ratios.
        public var denominatorEvent: String?
        /// The number of days before the assignment over which the same value is computed as a covariate; nil for none.
        /// Not for ratios.
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

/// The sums of an experiment. A unit is a person with at least one event that carries a variation; it counts from the
/// first such event.
public struct ExperimentSums: Codable, Sendable, Equatable {
    /// By variation.
    public var units: [String: Int]
    /// Units that were assigned to more than one variation. They count towards none.
    public var multipleExposures: Int
    /// Metric → variation → sums, in the form that `PUT …/metrics/{metric}/observations` of `config` accepts.
    public var metrics: [String: [String: Sums]]

    public init(units: [String: Int], multipleExposures: Int, metrics: [String: [String: Sums]]) {
        self.units = units
        self.multipleExposures = multipleExposures
        self.metrics = metrics
    }

    public struct Sums: Codable, Sendable, Equatable {
        public var units: Int
        public var sum: Double
        /// Nil for proportions.
        public var sumOfSquares: Double?
        public var denominator: Pair?
        /// Sums of the covariate.
        public var covariate: Pair?
        /// Sum of the products with the denominator or the covariate.
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
