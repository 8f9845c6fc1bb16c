/// The live configurations and translations of all apps' environments, as sent by `config` to other services.
public struct LiveVersions: Codable, Sendable, Equatable {
    /// Changes whenever anything is published or withdrawn.
    public var number: Int64
    /// The spaces in which something has ever been published.
    public var spaces: [Space]

    public struct Space: Codable, Sendable, Equatable {
        public var appID: String
        public var environment: AppEnvironment
        /// Increases with every publication.
        public var generation: Int64
        /// Nil if none is live.
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

    /// The most recently published version of its kind.
    public struct Version: Codable, Sendable, Equatable {
        /// Printable ASCII without `"` and `\`.
        public var version: String
        /// When it was published, in RFC 3339.
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
