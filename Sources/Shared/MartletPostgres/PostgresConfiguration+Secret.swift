public import MartletCore

extension PostgresConfiguration {
    /// - Parameter url: a libpq URI or conninfo string, password included.
    public init(url: Secret, applicationName: String, maximumConnections: Int) {
        self = url.withValue { PostgresConfiguration(connectionString: $0) }
        self.applicationName = applicationName
        self.maximumConnections = maximumConnections
    }
}
