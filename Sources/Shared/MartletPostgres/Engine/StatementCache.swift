import MartletCore

/// The prepared statements of one connection, keyed by text and parameter types; the one unused for longest is evicted.
struct StatementCache {
    private var statements: [StatementKey: PreparedStatement] = [:]
    private let capacity: Int
    private var clock = 0
    private var lastNumber = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
        statements.reserveCapacity(min(capacity, 256))
    }

    var count: Int { statements.count }

    mutating func find(_ query: PostgresQuery) -> PreparedStatement? {
        guard let statement = statements[StatementKey(query: query)] else { return nil }
        clock += 1
        statement.lastUse = clock
        return statement
    }

    /// The caller prepares it.
    mutating func insert(_ query: PostgresQuery) -> PreparedStatement {
        clock += 1
        lastNumber += 1
        let statement = PreparedStatement(key: StatementKey(query: query), name: "m\(lastNumber)", lastUse: clock)
        statements[statement.key] = statement
        return statement
    }

    /// Forgets a statement that the server does not have, or has out of date; false when it is already forgotten. A newer one for the same text
    /// stays.
    @discardableResult
    mutating func remove(_ statement: PreparedStatement) -> Bool {
        guard statements[statement.key] === statement else { return false }
        statements[statement.key] = nil
        return true
    }

    /// The statement to deallocate before another is inserted, when there is no room.
    mutating func evict() -> PreparedStatement? {
        guard statements.count >= capacity, let oldest = statements.values.min(by: { $0.lastUse < $1.lastUse }) else { return nil }
        remove(oldest)
        return oldest
    }
}

final class PreparedStatement {
    let key: StatementKey
    /// The NUL-terminated name on the server, never used twice on one connection.
    let name: ContiguousArray<CChar>
    var lastUse: Int
    /// The server has said that it has it. Until then it may still be refused, and only the request that prepares it depends on it.
    var isConfirmed = false

    init(key: StatementKey, name: String, lastUse: Int) {
        self.key = key
        self.name = name.utf8CString
        self.lastUse = lastUse
    }
}

/// What makes two queries the same statement: text, places and types of the parameters. Values do not count.
struct StatementKey: Hashable {
    private let text: String
    private let binds: [PostgresBind]

    init(query: PostgresQuery) {
        text = query.text
        binds = query.binds
    }

    /// By bytes: on fields whose names only look alike there are different statements.
    static func == (left: StatementKey, right: StatementKey) -> Bool {
        left.text.hasSameBytes(as: right.text) && left.binds.elementsEqual(right.binds) { $0.mark == $1.mark && $0.type == $1.type }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        for bind in binds {
            hasher.combine(bind.mark)
            hasher.combine(bind.type.rawValue)
        }
    }
}
