extension Storage {
    /// All objects that a query finds, as a new list after each change, to be shown on a screen.
    ///
    /// ```swift
    /// for try await messages in martlet.storage.objects(Message.query().order(by: .created)) {
    ///     show(messages)
    /// }
    /// ```
    ///
    /// Every list is complete and in the query's order. The sequence ends when its task is cancelled. After a lost
    /// connection it resumes; if its cursor has expired, it reads all objects again. It keeps all objects that match
    /// in memory, so give queries on large collections a condition. The query's limit shortens the lists. Conditions
    /// must depend only on the object itself, not on other objects or relative times, and the query must not sort by
    /// distance.
    public func objects<Value: Storable>(_ query: Query<Value>) -> LiveList<Value> {
        LiveList(storage: self, query: query)
    }
}

/// Complete lists of the objects that a query finds. See ``Storage/objects(_:)``.
public struct LiveList<Value: Storable>: AsyncSequence, Sendable {
    public typealias Element = [Stored<Value>]

    let storage: Storage
    let query: Query<Value>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage: storage, query: query) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let storage: Storage
        private let query: Query<Value>
        private var list: SortedObjects<Value>
        private var changes: LiveChanges<Value>.AsyncIterator?
        private var backoff: Backoff

        fileprivate init(storage: Storage, query: Query<Value>) {
            self.storage = storage
            self.query = query
            list = SortedObjects(query.sortOrders)
            backoff = Backoff(clock: storage.api.configuration.clock)
        }

        /// Nil when the task is cancelled.
        public mutating func next() async throws -> [Stored<Value>]? {
            while !Task.isCancelled {
                do {
                    guard changes != nil else {
                        try await readAll()
                        return shown
                    }
                    guard let change = try await changes?.next() else { return nil }
                    if list.apply(change) { return shown }
                } catch let error as MartletError where error.code == .cursorExpired {
                    changes = nil
                } catch is CancellationError {
                    return nil
                }
            }
            return nil
        }

        private var shown: [Stored<Value>] { Array(list.objects.prefix(query.maximumCount ?? .max)) }

        /// The feed's pages end at a cursor from which the live stream continues without a gap.
        private mutating func readAll() async throws {
            list = SortedObjects(query.sortOrders)
            var cursor: ChangeCursor?
            while true {
                do {
                    let page = try await storage.changes(in: query, since: cursor)
                    list.insert(page.changed)
                    for id in page.deleted { list.remove(id) }
                    cursor = page.cursor
                    if !page.hasMore { break }
                } catch let error as MartletError where error.mayPass {
                    try await backoff.wait(atLeast: error.retryAfter)
                }
            }
            backoff.reset()
            changes = storage.live(query, since: cursor).makeAsyncIterator()
        }
    }
}

/// Objects in the order in which the server would return them.
struct SortedObjects<Value: Storable> {
    private(set) var objects: [Stored<Value>] = []
    private let orders: [Query<Value>.SortOrder]

    init(_ orders: [Query<Value>.SortOrder]) { self.orders = orders }

    mutating func insert(_ new: [Stored<Value>]) {
        guard !new.isEmpty else { return }
        let ids = Set(new.map(\.id))
        objects.removeAll { ids.contains($0.id) }
        objects += new
        objects.sort(by: precedes)
    }

    mutating func remove(_ id: String) { objects.removeAll { $0.id == id } }

    /// Returns whether this changes the list.
    mutating func apply(_ change: LiveChange<Value>) -> Bool {
        let old = objects.firstIndex { $0.id == change.id }
        guard change.matches, let object = change.object else {
            guard let old else { return false }
            objects.remove(at: old)
            return true
        }
        if let old { objects.remove(at: old) }
        objects.insert(object, at: position(of: object))
        return true
    }

    private func position(of object: Stored<Value>) -> Int {
        var low = 0, high = objects.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(objects[middle], object) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func precedes(_ left: Stored<Value>, _ right: Stored<Value>) -> Bool {
        for order in orders {
            let comparison = JSONOrder.compare(left.fields.at(path: order.field), right.fields.at(path: order.field))
            if comparison != 0 { return (comparison < 0) != order.isDescending }
        }
        return JSONOrder.compare(.string(left.id), .string(right.id)) < 0
    }
}

extension JSON {
    /// The value at names joined by dots.
    func at(path: String) -> JSON? {
        path.split(separator: ".").reduce(Optional(self)) { value, name in value?[String(name)] }
    }
}

/// The server's order of values: by type, and objects without the field last.
enum JSONOrder {
    /// Negative if `left` comes first, 0 if they are equal.
    static func compare(_ left: JSON?, _ right: JSON?) -> Int {
        let (leftRank, rightRank) = (rank(left), rank(right))
        if leftRank != rightRank { return leftRank - rightRank }
        switch (left, right) {
        case (.string(let left), .string(let right)): return compare(left, right)
        case (.number(let left), .number(let right)): return compare(left, right)
        case (.bool(let left), .bool(let right)): return left == right ? 0 : left ? 1 : -1
        default:
            if let left = left?.dateValue, let right = right?.dateValue {
                return left == right ? 0 : left < right ? -1 : 1
            }
            return compare(left?.text ?? "", right?.text ?? "")
        }
    }

    private static func rank(_ value: JSON?) -> Int {
        switch value {
        case .null: 0
        case .string: 1
        case .number: 2
        case .bool: 3
        case .array: 4
        case .object: 5
        case nil: 6
        }
    }

    private static func compare(_ left: String, _ right: String) -> Int {
        if left == right { return 0 }
        return left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
    }

    private static func compare(_ left: JSONNumber, _ right: JSONNumber) -> Int {
        if left == right { return 0 }
        if let left = left.decimal, let right = right.decimal, left != right { return left < right ? -1 : 1 }
        return left.double < right.double ? -1 : 1
    }
}
