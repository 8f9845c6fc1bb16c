import CLibPQ

extension PostgresError {
    /// The error of a result with status `PGRES_FATAL_ERROR`.
    init(result: OpaquePointer) {
        func field(_ code: UnicodeScalar) -> String? {
            PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
        }
        self.init(.server, field(Field.message) ?? "the server sent no message")
        sqlState = field(Field.sqlState)
        detail = field(Field.detail)
        schema = field(Field.schema)
        table = field(Field.table)
        column = field(Field.column)
        constraint = field(Field.constraint)
        isMessagePublic = Self.isMessagePublic(sqlState: sqlState ?? "", hasPosition: field(Field.position) != nil)
        isStalePreparedStatement =
            sqlState == "26000" || (sqlState == "0A000" && field(Field.sourceFunction) == "RevalidateCachedQuery")
        isRefusedRole = sqlState == "42501" && field(Field.sourceFunction) == "call_string_check_hook"
    }

    /// Whether messages of this SQLSTATE name only objects and keywords. Those of class 42 do if they point into the
    /// statement, whose text contains no values. Without a position the error may be in a value (a `tsquery`, a
    /// `jsonpath`).
    private static func isMessagePublic(sqlState: String, hasPosition: Bool) -> Bool {
        switch sqlState.prefix(2) {
        case "08", "0A", "23", "25", "26", "40", "53", "54", "55", "57": true
        case "42": hasPosition || sqlState == "42501"
        default: false
        }
    }

    /// `PG_DIAG_…` from postgres_ext.h. Swift does not import these constants because they are character literals.
    private enum Field {
        static let sqlState: UnicodeScalar = "C"
        static let message: UnicodeScalar = "M"
        static let detail: UnicodeScalar = "D"
        static let position: UnicodeScalar = "P"
        static let schema: UnicodeScalar = "s"
        static let table: UnicodeScalar = "t"
        static let column: UnicodeScalar = "c"
        static let constraint: UnicodeScalar = "n"
        static let sourceFunction: UnicodeScalar = "R"
    }
}

extension PostgresError {
    /// The error for a failed connection attempt. Keeps only the kind of failure, because libpq's message contains
    /// host, port, user and database.
    static func connecting(_ sentence: String) -> PostgresError {
        let kinds = [
            ("password authentication failed", "authentication failed"),
            ("no password supplied", "authentication failed"),
            ("authentication failed", "authentication failed"), ("pg_hba.conf", "authentication failed"),
            ("could not translate host name", "host name not found"), ("Connection refused", "connection refused"),
            ("No such file or directory", "connection refused"), ("does not exist", "database or role does not exist"),
            ("too many", "too many connections"), ("connection slots", "too many connections"),
            ("starting up", "server is starting or stopping"), ("shutting down", "server is starting or stopping"),
            ("recovery", "server is starting or stopping"), ("certificate", "TLS failed"), ("SSL", "TLS failed"),
            ("timeout", "timed out"), ("timed out", "timed out"),
        ]
        let kind = kinds.first { sentence.contains($0.0) }?.1 ?? "connection failed"
        return PostgresError(.unavailable, "cannot connect: \(kind)")
    }

    static let closed = PostgresError(.closed, "the client is shutting down")

    static func lost(mayHaveExecuted: Bool) -> PostgresError {
        PostgresError(.connectionLost, "the connection to PostgreSQL was lost", mayHaveExecuted: mayHaveExecuted)
    }
}
