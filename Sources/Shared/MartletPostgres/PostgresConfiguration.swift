/// How to reach PostgreSQL, and the limits of the client.
public struct PostgresConfiguration: Sendable {
    /// A libpq URI or `key=value` string. Secret.
    let connectionString: String

    /// Connections for queries; `listen` takes one more. Transactions hold all but one of them at most, and so do the statements of one
    /// role: one whose statements all wait for a lock does not stop the others, nor is anything of theirs sent behind its statements. With one
    /// connection there is no such protection.
    public var maximumConnections = 4

    /// Statements sent on one connection and not yet answered.
    public var maximumPipelineDepth = 128

    /// A statement that has run for longer gets no others of its role sent behind it. Those sent before wait with it.
    public var maximumHeadAge: Duration = .milliseconds(100)

    /// Queries not yet sent. Further ones fail at once with `.overloaded`.
    public var maximumWaitingQueries = 20_000

    /// From the call to the answer. PostgreSQL itself gives up 5 seconds later, should the client be gone.
    public var queryTimeout: Duration = .seconds(30)

    /// How long a statement waits for each lock, then `lock_not_available` (55P03). Zero is no limit; whole milliseconds, rounded up.
    public var lockTimeout: Duration = .seconds(5)

    /// For one attempt to connect, including TLS and authentication.
    public var connectTimeout: Duration = .seconds(5)

    /// How long a query waits while there is no connection at all, then `.unavailable`.
    public var waitForConnectionTimeout: Duration = .seconds(5)

    /// Prepared statements per connection; the one unused for longest makes room.
    public var preparedStatementCacheSize = 256

    /// PostgreSQL settings of every connection; they win over the settings made of the limits above. Keys must be plain setting names.
    public var sessionSettings: [String: String] = ["TimeZone": "UTC"]

    /// Shown in `pg_stat_activity`.
    public var applicationName = "martlet"

    public init(connectionString: String) {
        self.connectionString = connectionString
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "PostgresConfiguration(<redacted>)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["connectionString": "<redacted>"]) }
}
