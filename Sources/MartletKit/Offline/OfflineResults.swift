/// What a query finds on the device, again after each change. See ``OfflineCollection/results(_:)``.
public struct OfflineResults<Value: Storable>: AsyncSequence, Sendable {
    public typealias Element = [Stored<Value>]

    let collection: OfflineCollection<Value>
    let query: Query<Value>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(collection: collection, query: query) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let collection: OfflineCollection<Value>
        private let query: Query<Value>
        private var changes: AsyncStream<Void>.Iterator?
        private var last: [JSON] = []

        fileprivate init(collection: OfflineCollection<Value>, query: Query<Value>) {
            self.collection = collection
            self.query = query
        }

        /// Returns nil when the task is cancelled.
        public mutating func next() async throws -> [Stored<Value>]? {
            guard changes != nil else {
                changes = await collection.store.changes().makeAsyncIterator()
                let first = try await answer()
                beginSynchronizing()
                return first
            }
            while await changes?.next() != nil {
                let before = last
                let next = try await answer()
                if last != before { return next }
            }
            return nil
        }

        private mutating func answer() async throws -> [Stored<Value>] {
            last = try await collection.checkedStore().answer(try LocalQuery(query))
            return try Storage(api: collection.api).objects(last)
        }

        private func beginSynchronizing() {
            Task { [collection] in
                do {
                    try await collection.sync()
                } catch {
                    let code = (error as? MartletError)?.code.rawValue ?? "\(type(of: error))"
                    collection.api.configuration.log(
                        .info, "Could not synchronize; the results are those of the device",
                        ["collection": Value.collection, "error.code": code])
                }
            }
        }
    }
}
