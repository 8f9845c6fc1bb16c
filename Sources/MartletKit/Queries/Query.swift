/// A query for objects of a collection. A query is a value: it can be kept, extended and reused.
///
/// ```swift
/// let query = Event.query()
///     .where(\.age > 20)
///     .near(\.place, of: here, within: .kilometers(5))
///     .include(\.host)
///     .limit(20)
/// let events = try await martlet.storage.find(query)
/// ```
///
/// A key path that names no stored field makes the call that uses the query throw
/// ``MartletError/Code/unknownField``.
public struct Query<Value: Storable>: Sendable {
    /// One field to sort by.
    public struct SortOrder: Sendable, Hashable {
        public let field: String
        public let isDescending: Bool
    }

    public enum Direction: Sendable { case ascending, descending }

    private var conditions: [JSON] = []
    /// The fields to sort by, most important first. Objects that are equal in all of them are sorted by id.
    public private(set) var sortOrders: [SortOrder] = []
    /// The fields that the server returns; nil: all.
    public private(set) var fieldNames: [String]?
    /// Paths of pointers whose objects are included in the answer.
    public private(set) var includedPaths: [String] = []
    public private(set) var maximumCount: Int?
    public private(set) var skippedCount = 0
    public private(set) var includesRemoved = false
    private var failure: MartletError?

    public init() {}

    /// All conditions as a filter in the server's language.
    ///
    /// - Throws: ``MartletError`` if a key path names no field.
    public func filter() throws -> JSON {
        if let failure { throw failure }
        guard let place = conditions.firstIndex(where: { $0.sortsByDistance }), conditions.count > 1 else {
            return conditions.count == 1 ? conditions[0] : conditions.isEmpty ? [:] : ["$and": .array(conditions)]
        }
        // A place at the top of the filter takes precedence over one in `$and`, which older servers do not sort by.
        var others = conditions
        var filter = others.remove(at: place)
        filter["$and"] = .array(others)
        return filter
    }

    /// Objects have to match this condition, too.
    public func `where`(_ condition: Condition<Value>) -> Query {
        changed { query in query.conditions.append(try condition.filter.get()) }
    }

    /// Objects within this distance of a place, nearest first unless the query has an order.
    ///
    /// - Parameter distance: Nil finds all objects that have a place.
    public func near<Place: PlaceField>(
        _ path: KeyPath<Value, Place>, of center: GeoPoint, within distance: Distance? = nil
    ) -> Query {
        guard let distance else {
            return self.where(Condition(path) { ["$nearSphere": try JSON(encoding: center)] })
        }
        return self.where(.near(path, of: center, within: distance))
    }

    /// Sorts by a field, after those given before. At most four.
    public func order<Member>(by path: KeyPath<Value, Member>, _ direction: Direction = .ascending) -> Query {
        changed { query in
            let name = try FieldName.of(path).get()
            query.sortOrders.append(SortOrder(field: name, isDescending: direction == .descending))
        }
    }

    /// Sorts by a field, after those given before. At most four.
    public func order<Member>(by field: Field<Member>, _ direction: Direction = .ascending) -> Query {
        changed { query in
            query.sortOrders.append(SortOrder(field: field.name, isDescending: direction == .descending))
        }
    }

    /// Includes the object that a field points to: ``Pointer/object``.
    public func include<Member: PointerField>(_ path: KeyPath<Value, Member>) -> Query {
        changed { query in query.includedPaths.append(try FieldName.of(path).get()) }
    }

    /// Includes the object that a field points to, and the one that a field of that object points to.
    public func include<Member: PointerField, Next: PointerField>(
        _ path: KeyPath<Value, Member>, then next: KeyPath<Member.PointerTarget, Next>
    ) -> Query {
        changed { query in
            query.includedPaths.append(try FieldName.of(path).get() + "." + FieldName.of(next).get())
        }
    }

    /// Returns these fields only. The others are missing, so they have to be optional, or
    /// ``Martlet/Configuration/tolerance`` has to fill them.
    public func select(_ paths: PartialKeyPath<Value>...) -> Query {
        changed { query in query.fieldNames = try paths.map { try FieldName.of($0).get() } }
    }

    /// At most this many objects, up to 1,000 at once. Without a limit, the server returns at most 100.
    public func limit(_ count: Int) -> Query { changed { $0.maximumCount = count } }

    /// Leaves out the first objects. For long lists use ``Storage/all(_:)`` or ``Storage/page(_:after:)``.
    public func skip(_ count: Int) -> Query { changed { $0.skippedCount = count } }

    /// Finds removed objects, too.
    public func includingRemoved() -> Query { changed { $0.includesRemoved = true } }

    /// Keeps only the first failure, which is the first one in the source code.
    private func changed(_ change: (inout Query) throws -> Void) -> Query {
        var query = self
        do {
            try change(&query)
        } catch let error as MartletError {
            query.failure = failure ?? error
        } catch {
            query.failure = failure ?? MartletError(.invalidArgument, "\(error)", underlyingError: error)
        }
        return query
    }
}

extension JSON {
    /// Whether the filter consists only of a `$nearSphere` condition.
    fileprivate var sortsByDistance: Bool {
        guard let members = objectValue, members.count == 1 else { return false }
        return members.values.contains { $0["$nearSphere"] != nil }
    }
}

extension Query {
    func orderParameter() -> String {
        sortOrders.map { ($0.isDescending ? "-" : "") + $0.field }.joined(separator: ",")
    }

    /// The query parameters of a request whose body is the filter.
    func parameters() throws -> [(name: String, value: String)] {
        if let failure { throw failure }
        var parameters: [(name: String, value: String)] = []
        if !sortOrders.isEmpty { parameters.append(("order", orderParameter())) }
        if let maximumCount { parameters.append(("limit", String(maximumCount))) }
        if skippedCount != 0 { parameters.append(("skip", String(skippedCount))) }
        if let fieldNames { parameters.append(("keys", fieldNames.joined(separator: ","))) }
        if !includedPaths.isEmpty { parameters.append(("include", includedPaths.joined(separator: ","))) }
        if includesRemoved { parameters.append(("deleted", "true")) }
        return parameters
    }
}
