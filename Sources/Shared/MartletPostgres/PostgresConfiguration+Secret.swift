public import MartletCore

extension PostgresConfiguration {
    /// - Parameter url: A libpq URI or conninfo string, including the password.
    public init(url: Secret, applicationName: String, maximumConnections: Int) {
        self = url.withValue { PostgresConfiguration(connectionString: $0) }
        self.applicationName = applicationName
        self.maximumConnections = maximumConnections
    }
}
