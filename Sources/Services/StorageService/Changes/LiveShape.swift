import MartletAPI
import MartletCore
import MartletPostgres
import NIOCore

/// A subscriber's request.
struct LiveRequest: Sendable, Hashable {
    static let maximumFilterSizeInBytes = 8 << 10

    let collection: CollectionName
    /// The filter's JSON text; nil for every object.
    let filter: String?
    /// The top-level fields to show; nil for all.
    let keys: [String]?

    /// Compiles a filter that can be followed: its result for an object only changes with writes to that object, and is
    /// fast to evaluate.
    ///
    /// - Throws: `invalid-json`, `invalid-filter`, and the errors of `FilterCompiler`.
    static func condition(_ filter: String, in scope: QueryScope) throws -> PostgresQuery {
        try self.filter(filter, in: scope).condition
    }

    /// As `condition`, with the other properties of the filter.
    static func filter(_ filter: String, in scope: QueryScope) throws -> Filter {
        let value = try checked { () throws(JSONError) in try JSONValue(parsing: filter.utf8) }
        let compiled = try FilterCompiler.filter(value, in: scope)
        guard !compiled.dependsOnOtherState else {
            throw ServiceError(
                .invalidFilter,
                "A filter for live changes must not use $inQuery, $notInQuery, $select, $dontSelect, $relatedTo or $relativeTime.",
                field: "where")
        }
        guard !compiled.isCostly else {
            throw ServiceError(
                .invalidFilter, "A $regex in a filter for live changes must consist of ^ and plain text.",
                field: "where")
        }
        return compiled
    }

    /// - Throws: `forbidden` if nothing could ever be shown, and the errors of `FilterCompiler`.
    func shape(_ rights: Rights, in space: AppSchema) throws -> LiveShape {
        let scope = QueryScope(space: space, collection: collection, rights: rights)
        let access = scope.access
        try access.require(.find)
        let condition = try filter.map { try Self.condition($0, in: scope) }
        return LiveShape(
            collection: collection.text, isReadable: access.allowedByRules(for: .find) ?? "TRUE",
            matches: condition ?? "TRUE",
            object: Rendering.object(access, keys: keys), past: Rendering.object(access, keys: keys, isPast: true))
    }
}

/// What a subscriber may see, except for the objects' own lists of readers. Subscribers with the same shape share
/// queries and encoded events.
///
/// Contains compiled SQL, so any difference in rules, roles, hidden fields or filters results in a different shape.
struct LiveShape: Sendable, Hashable {
    let collection: String
    /// Whether the rules allow reading an object.
    let isReadable: PostgresQuery
    /// Whether an object matches the filter.
    let matches: PostgresQuery
    /// The object's JSON text.
    let object: PostgresQuery
    /// As `object`, for an earlier state of the object whose current row is named `present`.
    let past: PostgresQuery
}

/// A change, as it affects the subscribers of a shape.
struct LiveChange: Sendable {
    enum Event: String, CaseIterable, Sendable {
        case create, enter, update, leave, delete
    }

    let seq: Int64
    private let id: String
    private let kind: String
    let readersAfter: [String]?
    let readersBefore: [String]?
    private let isReadableAfter: Bool
    private let matchesAfter: Bool
    private let isReadableBefore: Bool
    private let matchesBefore: Bool
    /// Whether the rules currently allow reading the object, and its current list of readers.
    let isReadableNow: Bool
    let readersNow: [String]?
    private let row: PostgresRow

    /// Decodes a row of `ChangeStore.changes`.
    init(_ row: PostgresRow) throws {
        self.row = row
        seq = try row.decode(0)
        id = try row.decode(1)
        kind = try row.decode(2)
        readersAfter = try row.decode(3)
        readersBefore = try row.decode(4)
        isReadableAfter = try row.decode(5)
        matchesAfter = try row.decode(6)
        isReadableBefore = try row.decode(7)
        matchesBefore = try row.decode(8)
        isReadableNow = try row.decode(11)
        readersNow = try row.decode(12)
    }

    /// Whether no subscriber gets an event.
    var isForNone: Bool { !(isReadableAfter && matchesAfter) && !(isReadableBefore && matchesBefore) }

    /// The event for a subscriber who, according to the lists of readers, may see the object after or before the
    /// change; nil for no event.
    func event(readsAfter: Bool, readsBefore: Bool) -> Event? {
        let isAfter = isReadableAfter && matchesAfter && readsAfter
        let isBefore = isReadableBefore && matchesBefore && readsBefore
        return switch (isBefore, isAfter) {
        case (true, true): .update
        case (false, true): kind == "c" ? .create : .enter
        case (true, false): kind == "d" ? .delete : .leave
        case (false, false): nil
        }
    }

    /// Whether the event contains the object. A `leave` event only does if the subscriber may still read the object.
    func shows(_ event: Event, readsAfter: Bool) -> Bool { event != .leave || (isReadableAfter && readsAfter) }

    /// Encodes the event (HTML standard, server-sent events).
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
