/// A failed query.
///
/// `description` is safe to log: it contains no values, no connection string, and no host, user or password.
public struct PostgresError: Error, Sendable {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case server, unavailable, overloaded, timeout, cancelled, connectionLost, protocolViolation, decoding,
                misuse, closed
        }

        private let kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        /// PostgreSQL refused the statement; see `sqlState`.
        public static let server = Code(.server)
        /// No connection was available in time. Nothing was executed.
        public static let unavailable = Code(.unavailable)
        /// Too many queries are already waiting. Nothing was executed.
        public static let overloaded = Code(.overloaded)
        /// The query timed out.
        public static let timeout = Code(.timeout)
        /// The task was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The connection ended before the answer.
        public static let connectionLost = Code(.connectionLost)
        /// PostgreSQL or libpq sent an unexpected answer. The connection was closed.
        public static let protocolViolation = Code(.protocolViolation)
        /// A cell has a different type than requested.
        public static let decoding = Code(.decoding)
        /// The statement cannot be run this way, such as `BEGIN` outside `withTransaction`.
        public static let misuse = Code(.misuse)
        /// The client is shutting down.
        public static let closed = Code(.closed)

        public var description: String { kind.rawValue }
    }

    public let code: Code
    /// The five-character SQLSTATE.
    public internal(set) var sqlState: String?
    /// The server's message. It may contain values, so never show it to users; `description` includes it only when it
    /// contains none.
    public internal(set) var message: String
    /// The server's `DETAIL`, which usually contains values.
    public internal(set) var detail: String?
    public internal(set) var schema: String?
    public internal(set) var table: String?
    public internal(set) var column: String?
    public internal(set) var constraint: String?
    /// Whether the statement was sent, so that it may have been executed. Never true for `.server`: a statement that
    /// PostgreSQL refused had no effect.
    public internal(set) var mayHaveExecuted = false
    /// Whether `message` contains no values.
    var isMessagePublic = true
    /// Whether a prepared statement was outdated or missing, so that preparing it again helps.
    var isStalePreparedStatement = false
    /// Whether the session believes that it may not switch to the role. Nothing was executed. See
    /// `Connection.hasStaleRoles`.
    var isRefusedRole = false

    init(_ code: Code, _ message: String, mayHaveExecuted: Bool = false) {
        self.code = code
        self.message = message
        self.mayHaveExecuted = mayHaveExecuted
    }

    /// Whether the whole transaction can be retried: a serialization failure or deadlock.
    public var isSerializationFailure: Bool { sqlState == "40001" || sqlState == "40P01" }

    public var isUniqueViolation: Bool { sqlState == "23505" }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        var text = "PostgresError.\(code)"
        if let sqlState { text += " \(sqlState)" }
        if isMessagePublic { text += ": \(message)" }
        for (name, value) in [("schema", schema), ("table", table), ("column", column), ("constraint", constraint)] {
            if let value { text += " \(name)=\(value)" }
        }
        return mayHaveExecuted ? text + " (may have been executed)" : text
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
