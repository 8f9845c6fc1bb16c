extension Storage {
    /// The objects that match, at most 100 unless the query has a limit (up to 1,000). For all of them use ``all(_:)``.
    public func find<Value: Storable>(_ query: Query<Value>) async throws -> [Stored<Value>] {
        let answer = try await list(query, query.parameters())
        return try objects(answer)
    }

    /// The first object that matches; nil if none does.
    public func first<Value: Storable>(_ query: Query<Value>) async throws -> Stored<Value>? {
        try await find(query.limit(1)).first
    }

    /// How many objects match, whatever the query's limit.
    public func count<Value: Storable>(_ query: Query<Value>) async throws -> Int {
        let answer = try await list(query, query.limit(0).parameters() + [("count", "true")])
        guard let count = answer["count"]?.intValue else {
            throw MartletError(.unexpectedAnswer, "The answer has no count.")
        }
        return count
    }

    /// One page of the objects that match, with the position at which the next begins.
    ///
    /// Writes between two pages do not shift the objects on them.
    public func page<Value: Storable>(
        _ query: Query<Value>, after position: Page<Value>.Position? = nil
    ) async throws -> Page<Value> {
        let answer = try await list(query, query.parameters() + [("cursor", position?.cursor ?? "")])
        return Page(
            objects: try objects(answer),
            next: answer["cursor"]?.stringValue.map { Page.Position(cursor: $0) })
    }

    /// All objects that match, read page by page while you iterate.
    ///
    /// ```swift
    /// for try await event in martlet.storage.all(Event.query().order(by: \.title)) { … }
    /// ```
    public func all<Value: Storable>(_ query: Query<Value>) -> ObjectSequence<Value> {
        ObjectSequence(storage: self, query: query)
    }

    /// The distinct values of a field in the objects that match. For lists, these are their elements.
    public func distinct<Value: Storable, Member: Decodable>(
        _ path: KeyPath<Value, Member>, in query: Query<Value> = Query()
    ) async throws -> [Member] {
        let body: JSON = ["field": .string(try FieldName.of(path).get()), "where": try query.filter()]
        let request = APIRequest(
            "POST", "storage/distinct/" + APIRequest.escape(Value.collection), json: body, repetition: .idempotent)
        let values = try await api.json(request)["data"]?.arrayValue ?? []
        return try values.map { try $0.decoded(as: Member.self, tolerance: tolerance) }
    }

    /// Counts, sums and averages of the objects that match, for each combination of the fields given.
    ///
    /// ```swift
    /// let rows = try await martlet.storage.summary(
    ///     of: Shop.query().where(\.isOpen == true), by: [\.city],
    ///     ["shops": .count, "price": .average(\.price)])
    /// rows[0]["city"]?.stringValue    // "Bern"
    /// rows[0]["shops"]?.intValue      // 12
    /// ```
    public func summary<Value: Storable>(
        of query: Query<Value>, by groups: [PartialKeyPath<Value>] = [], _ values: [String: Aggregate<Value>]
    ) async throws -> [JSON] {
        var body: JSON = [
            "where": try query.filter(), "values": .object(try values.mapValues { try $0.json.get() }),
            "group": .array(try groups.map { .string(try FieldName.of($0).get()) }),
        ]
        if !query.sortOrders.isEmpty { body["order"] = .string(query.orderParameter()) }
        if let limit = query.maximumCount { body["limit"] = .number(JSONNumber(limit)) }
        let request = APIRequest(
            "POST", "storage/aggregate/" + APIRequest.escape(Value.collection), json: body, repetition: .idempotent)
        return try await api.json(request)["data"]?.arrayValue ?? []
    }

    private func list<Value: Storable>(
        _ query: Query<Value>, _ parameters: [(name: String, value: String)]
    ) async throws -> JSON {
        var request = APIRequest(
            "POST", "storage/query/" + APIRequest.escape(Value.collection), json: try query.filter(),
            repetition: .idempotent)
        request.query = parameters
        return try await api.json(request)
    }

    private func objects<Value: Storable>(_ answer: JSON) throws -> [Stored<Value>] {
        guard let objects = answer["data"]?.arrayValue else {
            throw MartletError(.unexpectedAnswer, "The answer has no objects.")
        }
        return try self.objects(objects)
    }
}

/// Some of the objects that match a query.
public struct Page<Value: Storable>: Sendable {
    /// A position in a list. It is valid for a query with the same conditions and order.
    public struct Position: Sendable, Hashable {
        let cursor: String
    }

    public let objects: [Stored<Value>]
    /// The position at which the next page begins; nil after the last one.
    public let next: Position?
}

/// All objects that match a query. See ``Storage/all(_:)``.
public struct ObjectSequence<Value: Storable>: AsyncSequence, Sendable {
    public typealias Element = Stored<Value>

    let storage: Storage
    let query: Query<Value>

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(storage: storage, query: query, remaining: query.maximumCount ?? .max)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let storage: Storage
        let query: Query<Value>
        var remaining: Int
        private var objects: ArraySlice<Stored<Value>> = []
        private var position: Page<Value>.Position?
        private var isLast = false

        fileprivate init(storage: Storage, query: Query<Value>, remaining: Int) {
            self.storage = storage
            self.query = query
            self.remaining = remaining
        }

        public mutating func next() async throws -> Stored<Value>? {
            while objects.isEmpty {
                guard !isLast, remaining > 0 else { return nil }
                let page = try await storage.page(query.limit(Swift.min(remaining, 500)), after: position)
                objects = page.objects[...]
                position = page.next
                isLast = page.next == nil
                remaining -= page.objects.count
            }
            return objects.removeFirst()
        }
    }
}

/// A number computed from the values of a field. See ``Storage/summary(of:by:_:)``.
public struct Aggregate<Value: Storable>: Sendable {
    let json: Result<JSON, MartletError>

    private init(_ operation: String, _ path: PartialKeyPath<Value>) {
        json = FieldName.of(path).map { [operation: .string($0)] }
    }

    private init(json: JSON) { self.json = .success(json) }

    public static var count: Aggregate { Aggregate(json: ["$count": true]) }
    public static func sum(_ path: PartialKeyPath<Value>) -> Aggregate { Aggregate("$sum", path) }
    public static func average(_ path: PartialKeyPath<Value>) -> Aggregate { Aggregate("$avg", path) }
    public static func minimum(_ path: PartialKeyPath<Value>) -> Aggregate { Aggregate("$min", path) }
    public static func maximum(_ path: PartialKeyPath<Value>) -> Aggregate { Aggregate("$max", path) }
}
