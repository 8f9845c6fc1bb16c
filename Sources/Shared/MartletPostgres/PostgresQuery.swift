/// One SQL statement with its bound values.
///
/// Write it as a string literal. Every interpolated value becomes a bound parameter (`$1`, `$2` …), never text:
///
///     let query: PostgresQuery = "SELECT name FROM users WHERE id = \(id) AND state = \(state)"
///
/// A query that is interpolated into another one or appended to it keeps its parameters, which are renumbered.
/// Parameter numbers are inserted only when the statement is prepared, so composing costs one copy of text and values.
public struct PostgresQuery: Sendable, Hashable {
    /// The role that runs the statement; `nil` for the role that the client logged in with. Ignored inside a
    /// transaction, which has its own role.
    public var role: PostgresIdentifier?

    /// Whether the statement is prepared once per connection. Turn off for text that rarely repeats. Statements with
    /// more than 64 parameters or 8 KiB are never prepared, because a client usually determines their shape.
    public var isPrepared = true

    /// Whether a prepared statement is planned for its values at each execution, because the best plan depends on them.
    /// Otherwise, after a few executions, PostgreSQL keeps one plan for all values. Preparing is still worthwhile: the
    /// text is parsed only once, and parsing takes half as long as planning.
    public var isPlannedForValues = false

    /// How long PostgreSQL may work on the statement, before it fails with `query_canceled` (57014). Nil for the
    /// client's limit. Ignored inside a transaction.
    ///
    /// The `timeout` of a call is how long its caller waits, also for a connection. A statement that fails by its own
    /// limit does too much; one that fails by a timeout may only have found the database busy. A wait for a lock ends
    /// after two thirds of this limit, with `lock_not_available` (55P03).
    public var timeLimit: Duration?

    /// The statement without parameter numbers; `binds` holds their positions.
    var text: String
    var binds: [PostgresBind]
    /// The concatenated binary forms of all values.
    var bytes: [UInt8]

    /// An empty fragment to append to.
    public init() {
        text = ""
        binds = []
        bytes = []
    }

    /// Creates a query from SQL that the program wrote. It is not checked, so it must never contain user input.
    public init(unescaped sql: String) {
        text = sql
        binds = []
        bytes = []
    }

    public var isEmpty: Bool { text.isEmpty && binds.isEmpty }

    /// Whether the text is likely to repeat. Prevents clients from filling the cache with shapes of their choice.
    var isWorthPreparing: Bool { isPrepared && binds.count <= 64 && text.utf8.count <= 8 << 10 }

    /// The statement as sent to PostgreSQL, with `$1`, `$2` … in place of the values.
    public var sql: String {
        guard !binds.isEmpty else { return text }
        var sql = ""
        sql.reserveCapacity(text.utf8.count + binds.count * 3)
        let utf8 = text.utf8
        var position = utf8.startIndex
        for (number, bind) in binds.enumerated() {
            let mark = utf8.index(utf8.startIndex, offsetBy: Int(bind.mark))
            sql += text[position..<mark]
            sql += "$\(number + 1)"
            position = mark
        }
        sql += text[position...]
        return sql
    }

    public mutating func append(_ fragment: PostgresQuery) {
        let textOffset = UInt32(text.utf8.count)
        let valueOffset = Int32(bytes.count)
        text += fragment.text
        bytes += fragment.bytes
        binds.reserveCapacity(binds.count + fragment.binds.count)
        for bind in fragment.binds { binds.append(bind.shifted(text: textOffset, value: valueOffset)) }
    }

    public mutating func append(unescaped sql: StaticString) {
        text += sql.description
    }

    public static func + (left: PostgresQuery, right: PostgresQuery) -> PostgresQuery {
        var sum = left
        sum.append(right)
        return sum
    }

    public static func += (left: inout PostgresQuery, right: PostgresQuery) {
        left.append(right)
    }

    /// Binds a value at the end of the text. `write` appends its binary form.
    mutating func bind(_ type: PostgresType, _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        binds.append(
            PostgresBind(
                mark: UInt32(text.utf8.count), type: type, offset: Int32(start), length: Int32(bytes.count - start)))
    }

    mutating func bindNull(_ type: PostgresType) {
        binds.append(PostgresBind(mark: UInt32(text.utf8.count), type: type, offset: 0, length: PostgresBind.null))
    }
}

extension PostgresQuery: CustomStringConvertible {
    /// The SQL, without any value.
    public var description: String { sql }
}

extension PostgresQuery: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["sql": sql]) }
}

extension [PostgresQuery] {
    /// Concatenates all fragments, with `separator` between them.
    public func joined(separator: StaticString) -> PostgresQuery {
        var joined = PostgresQuery()
        for number in indices {
            if number > 0 { joined.append(unescaped: separator) }
            joined.append(self[number])
        }
        return joined
    }
}

/// The position of a parameter in the text, its type, and the location of its value in the query's bytes.
struct PostgresBind: Sendable, Hashable {
    static let null: Int32 = -1

    let mark: UInt32
    let type: PostgresType
    let offset: Int32
    let length: Int32

    func shifted(text: UInt32, value: Int32) -> PostgresBind {
        PostgresBind(mark: mark + text, type: type, offset: offset + value, length: length)
    }
}
