/// Connection settings and limits of the client.
public struct PostgresConfiguration: Sendable {
    /// A libpq URI or `key=value` string. Secret.
    let connectionString: String

    /// Connections for queries; `listen` uses one more. All transactions together use at most one less than this, and
    /// so do the statements of one role. A role whose statements all wait for a lock therefore does not block others,
    /// and no statement of another role is sent behind its own. With a single connection there is no such protection.
    public var maximumConnections = 4

    /// Limit for unanswered statements per connection.
    public var maximumPipelineDepth = 128

    /// When a statement has run for longer than this, no others of its role are sent behind it. Those already sent wait
    /// with it.
    public var maximumHeadAge: Duration = .milliseconds(100)

    /// Limit for queries not sent yet. Further ones fail at once with `.overloaded`.
    public var maximumWaitingQueries = 20_000

    /// From call to answer. PostgreSQL itself cancels the statement 5 seconds later, in case the client has
    /// disconnected.
    public var queryTimeout: Duration = .seconds(30)

    /// How long a statement waits for each lock before it fails with `lock_not_available` (55P03). Zero means no limit.
    /// Rounded up to whole milliseconds.
    public var lockTimeout: Duration = .seconds(5)

    /// For one connection attempt, including TLS and authentication.
    public var connectTimeout: Duration = .seconds(5)

    /// How long a query waits without any open connection before it fails with `.unavailable`.
    public var waitForConnectionTimeout: Duration = .seconds(5)

    /// Prepared statements per connection, with LRU eviction.
    public var preparedStatementCacheSize = 256

    /// PostgreSQL settings of every connection. They take precedence over settings derived from the limits above. Keys
    /// must be plain setting names.
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
