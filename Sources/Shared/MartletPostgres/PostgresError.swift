/// Why a query has no result.
///
/// `description` is fit for a log: it holds neither values, nor the connection string, nor a host, user or password.
public struct PostgresError: Error, Sendable {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case server, unavailable, overloaded, timeout, cancelled, connectionLost, protocolViolation, decoding, misuse, closed
        }

        private let kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        /// PostgreSQL refused the statement; `sqlState` says why.
        public static let server = Code(.server)
        /// No connection could be made in time. Nothing was executed.
        public static let unavailable = Code(.unavailable)
        /// Too many queries are waiting already. Nothing was executed.
        public static let overloaded = Code(.overloaded)
        /// No answer in time.
        public static let timeout = Code(.timeout)
        /// The task was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The connection ended before the answer.
        public static let connectionLost = Code(.connectionLost)
        /// PostgreSQL or libpq answered out of turn. The connection was given up.
        public static let protocolViolation = Code(.protocolViolation)
        /// A cell is not of the type it was read as.
        public static let decoding = Code(.decoding)
        /// A statement that cannot be run this way, such as `BEGIN` outside `withTransaction`.
        public static let misuse = Code(.misuse)
        /// The client is shutting down.
        public static let closed = Code(.closed)

        public var description: String { kind.rawValue }
    }

    public let code: Code
    /// The five characters of PostgreSQL's `SQLSTATE`.
    public internal(set) var sqlState: String?
    /// The server's sentence. It may quote values: show it to nobody; `description` has it only where it cannot.
    public internal(set) var message: String
    /// The server's `DETAIL`, which usually quotes values.
    public internal(set) var detail: String?
    public internal(set) var schema: String?
    public internal(set) var table: String?
    public internal(set) var column: String?
    public internal(set) var constraint: String?
    /// Whether the statement was sent, so that its effect is unknown. Never true for `.server`: there it had none.
    public internal(set) var mayHaveExecuted = false
    /// Whether `message` is free of values.
    var isMessagePublic = true
    /// Whether PostgreSQL refused because a prepared statement is out of date or gone, so that preparing it again helps.
    var isStalePreparedStatement = false
    /// Whether the session may not become the role, as far as it knows: nothing was executed. See `Connection.hasStaleRoles`.
    var isRefusedRole = false

    init(_ code: Code, _ message: String, mayHaveExecuted: Bool = false) {
        self.code = code
        self.message = message
        self.mayHaveExecuted = mayHaveExecuted
    }

    /// Whether running the whole transaction again may succeed: serialization failure or deadlock.
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
