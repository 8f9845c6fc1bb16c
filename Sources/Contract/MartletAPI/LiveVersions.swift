/// What is live of configurations and translations in the apps' environments, as `config` tells other services.
public struct LiveVersions: Codable, Sendable, Equatable {
    /// Another one when anything was published or withdrawn.
    public var number: Int64
    /// Those in which something was ever published.
    public var spaces: [Space]

    public struct Space: Codable, Sendable, Equatable {
        public var appID: String
        public var environment: AppEnvironment
        /// Counts what was published.
        public var generation: Int64
        /// Nil: none is live.
        public var config: Version?
        public var translation: Version?

        public init(
            appID: String, environment: AppEnvironment, generation: Int64 = 0, config: Version? = nil,
            translation: Version? = nil
        ) {
            self.appID = appID
            self.environment = environment
            self.generation = generation
            self.config = config
            self.translation = translation
        }
    }

    /// The one of a kind that was published last.
    public struct Version: Codable, Sendable, Equatable {
        /// Printable ASCII without `"` and `\`.
        public var version: String
        /// When it was published, as RFC 3339 has it.
        public var date: String

        public init(version: String, date: String) {
            self.version = version
            self.date = date
        }
    }

    public init(number: Int64, spaces: [Space]) {
        self.number = number
        self.spaces = spaces
    }
}
