import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// What a subscriber asked for.
struct LiveRequest: Sendable, Hashable {
    static let maximumFilterSizeInBytes = 8 << 10

    let collection: CollectionName
    /// The filter's JSON text; nil: every object.
    let filter: String?
    /// The top-level fields to show; nil: all.
    let keys: [String]?

    /// A filter that can be followed: its answer on an object changes by writes to that object alone, and is quick to
    /// find.
    ///
    /// - Throws: `invalid-json`, `invalid-filter`, and what `FilterCompiler` throws.
    static func condition(_ filter: String, in scope: QueryScope) throws -> PostgresQuery {
        try self.filter(filter, in: scope).condition
    }

    /// The same with what is known of it.
    static func filter(_ filter: String, in scope: QueryScope) throws -> Filter {
        let value = try checked { () throws(JSONError) in try JSONValue(parsing: filter.utf8) }
        let compiled = try FilterCompiler.filter(value, in: scope)
        guard !compiled.dependsOnMore else {
            throw HTTPProblem(
                .invalidFilter,
                "What is followed has no $inQuery, $notInQuery, $select, $dontSelect, $relatedTo or $relativeTime.",
                field: "where")
        }
        guard !compiled.isCostly else {
            throw HTTPProblem(
                .invalidFilter, "A $regex in what is followed begins with ^ and plain text, and has nothing else.",
                field: "where")
        }
        return compiled
    }

    /// - Throws: `forbidden` when nothing could ever be shown, and what `FilterCompiler` throws.
    func shape(_ rights: Rights, in space: AppSpace) throws -> LiveShape {
        let scope = QueryScope(space: space, collection: collection, rights: rights)
        let access = scope.access
        try access.require(.find)
        let condition = try filter.map { try Self.condition($0, in: scope) }
        return LiveShape(
            collection: collection.text, may: access.ruled(for: .find) ?? "TRUE", fits: condition ?? "TRUE",
            object: Rendering.object(access, keys: keys), past: Rendering.object(access, keys: keys, isPast: true))
    }
}

/// What a subscriber gets to see, but for the objects' own lists of readers: subscribers of one shape share their
/// queries and bytes.
///
/// Compiled, so that whatever makes a difference — rules, roles, hidden fields, filters — makes another shape.
struct LiveShape: Sendable, Hashable {
    let collection: String
    /// Whether the rules open an object.
    let may: PostgresQuery
    /// Whether an object matches the filter.
    let fits: PostgresQuery
    /// The object's text.
    let object: PostgresQuery
    /// The same for an earlier state of the object, whose current row is called `present`.
    let past: PostgresQuery
}

/// One change, as it looks to the subscribers of a shape.
struct LiveChange: Sendable {
    enum Event: String, CaseIterable, Sendable {
        case create, enter, update, leave, delete
    }

    let seq: Int64
    private let id: String
    private let kind: String
    let readersAfter: [String]?
    let readersBefore: [String]?
    private let mayAfter: Bool
    private let fitsAfter: Bool
    private let mayBefore: Bool
    private let fitsBefore: Bool
    /// Whether the rules open the object as it is now, and its list of readers now.
    let mayNow: Bool
    let readersNow: [String]?
    private let row: PostgresRow

    /// A row of `ChangeStore.changes`.
    init(_ row: PostgresRow) throws {
        self.row = row
        seq = try row.decode(0)
        id = try row.decode(1)
        kind = try row.decode(2)
        readersAfter = try row.decode(3)
        readersBefore = try row.decode(4)
        mayAfter = try row.decode(5)
        fitsAfter = try row.decode(6)
        mayBefore = try row.decode(7)
        fitsBefore = try row.decode(8)
        mayNow = try row.decode(11)
        readersNow = try row.decode(12)
    }

    /// Whether no subscriber gets anything.
    var isForNone: Bool { !(mayAfter && fitsAfter) && !(mayBefore && fitsBefore) }

    /// What happened, for a subscriber whom the lists of readers let see the object after or before; nil: nothing.
    func event(readsAfter: Bool, readsBefore: Bool) -> Event? {
        let isAfter = mayAfter && fitsAfter && readsAfter
        let isBefore = mayBefore && fitsBefore && readsBefore
        return switch (isBefore, isAfter) {
        case (true, true): .update
        case (false, true): kind == "c" ? .create : .enter
        case (true, false): kind == "d" ? .delete : .leave
        case (false, false): nil
        }
    }

    /// Whether the event shows the object: a `leave` does so only if the object is still open to the subscriber.
    func shows(_ event: Event, readsAfter: Bool) -> Bool { event != .leave || (mayAfter && readsAfter) }

    /// The event's text (HTML standard, server-sent events).
    func frame(_ event: Event, shows: Bool, cursor: String) -> LiveFrame {
        row.withBytes(9) { object in
            let object = shows ? object : nil
            return LiveFrame(minimumCapacity: 128 + cursor.utf8.count + (object?.count ?? 0)) { text in
                text.append(
                    "id: ", cursor, "\nevent: ", event.rawValue, "\ndata: {\"seq\":", "\(seq)", ",\"id\":\"", id, "\"")
                if let object {
                    text.append(",\"object\":")
                    text.writeBytes(object)
                }
                text.append("}\n\n")
            }
        }
    }
}
