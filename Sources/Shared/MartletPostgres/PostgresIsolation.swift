/// A transaction isolation level, as PostgreSQL defines it.
public enum PostgresIsolation: Sendable {
    case readCommitted, repeatableRead, serializable

    var sql: String {
        switch self {
        case .readCommitted: "READ COMMITTED"
        case .repeatableRead: "REPEATABLE READ"
        case .serializable: "SERIALIZABLE"
        }
    }
}
