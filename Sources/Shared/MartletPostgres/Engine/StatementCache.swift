import MartletCore

/// The prepared statements of one connection, keyed by text and parameter types, with LRU eviction.
///
/// The total size of their texts is limited, because PostgreSQL uses memory in proportion to it.
struct StatementCache {
    static let maximumSizeInBytes = 512 << 10

    private var sizeInBytes = 0
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

    /// Adds a statement. The caller prepares it on the server.
    mutating func insert(_ query: PostgresQuery) -> PreparedStatement {
        clock += 1
        lastNumber += 1
        let statement = PreparedStatement(key: StatementKey(query: query), name: "m\(lastNumber)", lastUse: clock)
        statements[statement.key] = statement
        sizeInBytes += statement.key.sizeInBytes
        return statement
    }

    /// Removes a statement that is missing or outdated on the server. False if it was already removed. A newer
    /// statement with the same text stays.
    @discardableResult
    mutating func remove(_ statement: PreparedStatement) -> Bool {
        guard statements[statement.key] === statement else { return false }
        statements[statement.key] = nil
        sizeInBytes -= statement.key.sizeInBytes
        return true
    }

    /// Removes and returns a statement to deallocate before `query` is inserted; nil if there is room for it.
    mutating func evict(for query: PostgresQuery) -> PreparedStatement? {
        let isFull =
            statements.count >= capacity || sizeInBytes + query.text.utf8.count > Self.maximumSizeInBytes
        guard isFull, let oldest = statements.values.min(by: { $0.lastUse < $1.lastUse }) else {
            return nil
        }
        remove(oldest)
        return oldest
    }
}

final class PreparedStatement {
    let key: StatementKey
    /// NUL-terminated name on the server, unique per connection.
    let name: ContiguousArray<CChar>
    var lastUse: Int
    /// Whether the server has confirmed the statement. Until then it may still be refused, so only the request that
    /// prepares it uses it.
    var isConfirmed = false

    init(key: StatementKey, name: String, lastUse: Int) {
        self.key = key
        self.name = name.utf8CString
        self.lastUse = lastUse
    }
}

/// Identifies a prepared statement: text, and positions and types of parameters. Values are irrelevant.
struct StatementKey: Hashable {
    private let text: String
    var sizeInBytes: Int { text.utf8.count }
    private let binds: [PostgresBind]

    init(query: PostgresQuery) {
        text = query.text
        binds = query.binds
    }

    /// Compares bytes: Unicode-equivalent field names with different encodings are different statements.
    static func == (left: StatementKey, right: StatementKey) -> Bool {
        left.text.hasSameBytes(as: right.text)
            && left.binds.elementsEqual(right.binds) { $0.mark == $1.mark && $0.type == $1.type }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        for bind in binds {
            hasher.combine(bind.mark)
            hasher.combine(bind.type.rawValue)
        }
    }
}
