import Foundation

/// The signed-in user's objects of a type, as they are kept on the device. See ``Offline``.
///
/// Reads and writes need no connection. Every call throws ``MartletError/Code/notSignedIn`` once somebody else is
/// signed in: call ``Offline/collection(_:where:conflicts:)`` again.
public struct OfflineCollection<Value: Storable>: Sendable {
    let store: OfflineStore
    let api: APIClient
    let reports: OfflineReports

    private var tolerance: Tolerance { api.configuration.tolerance }

    /// The store, while its user is signed in.
    ///
    /// - Throws: ``MartletError/Code/notSignedIn``.
    func checkedStore() async throws -> OfflineStore {
        guard try await api.session.current()?.user.id == store.userID else { throw SessionKeeper.ended }
        return store
    }

    private func stored(_ json: JSON) throws -> Stored<Value> { try Stored(json: json, tolerance: tolerance) }
}

// MARK: - Reading

extension OfflineCollection {
    /// The object with this id, with changes that were not sent yet; nil if the device has none.
    public func get(id: String) async throws -> Stored<Value>? {
        try await checkedStore().object(id).map(stored)
    }

    /// The objects that match, in the order and number that the server would answer: at most 100 unless the query has
    /// a limit (up to 1,000).
    ///
    /// The device evaluates equality, comparisons, `in`, `exists`, list conditions, `&&`, `||` and `!`, `hasPrefix`,
    /// case-sensitive `containsText`, `near` and `inBox`. It returns whole objects, whatever the query selects.
    ///
    /// - Throws: ``MartletError/Code/unsupportedOffline`` for everything else: areas, words, patterns, conditions on
    ///   other objects, relative times, included and removed objects.
    public func find(_ query: Query<Value> = Query()) async throws -> [Stored<Value>] {
        let answer = try await checkedStore().answer(try LocalQuery(query))
        return try Storage(api: api).objects(answer)
    }

    /// The first object that matches; nil if none does.
    public func first(_ query: Query<Value> = Query()) async throws -> Stored<Value>? {
        try await find(query.limit(1)).first
    }

    /// How many objects match, whatever the query's limit.
    public func count(_ query: Query<Value> = Query()) async throws -> Int {
        try await checkedStore().count(try LocalQuery(query))
    }

    /// The writes that the server has not confirmed, in the order in which they were done.
    public func pendingWrites() async throws -> [PendingWrite] { try await checkedStore().state.writes }

    /// The objects that a query finds on the device: at once, and again after each change by this device or the server.
    ///
    /// ```swift
    /// for try await events in collection.results(Event.query().order(by: \.title)) { show(events) }
    /// ```
    ///
    /// The collection is synchronized once when the iteration begins; for continuous synchronization use
    /// ``keepInSync()``. Being offline is not an error here. The sequence ends when its task is cancelled.
    public func results(_ query: Query<Value> = Query()) -> OfflineResults<Value> {
        OfflineResults(collection: self, query: query)
    }
}

// MARK: - Writing

extension OfflineCollection {
    /// Stores a new object on the device, and on the server as soon as it can be reached.
    ///
    /// - Parameters:
    ///   - id: As for ``Storage/create(_:id:readers:writers:replaces:)``; without one the device makes a UUID.
    /// - Throws: ``MartletError/Code/preconditionFailed`` if the device has an object with this id;
    ///   ``MartletError/Code/outboxFull``.
    @discardableResult
    public func create(
        _ value: Value, id: String? = nil, readers: [Grantee]? = nil, writers: [Grantee]? = nil
    ) async throws -> Stored<Value> {
        let write = try Write.create(value, id: id, readers: readers, writers: writers, replaces: false)
        var body = write.body ?? [:]
        let id = body["_id"]?.stringValue ?? UUID().uuidString.lowercased()
        body["_id"] = .string(id)
        return try await add(.create, id, body)
    }

    /// Stores the changes made to the object since it was read. Nothing is stored if nothing was changed.
    @discardableResult
    public func save(_ object: Stored<Value>) async throws -> Stored<Value> {
        let changes = try object.changes(tolerance: tolerance)
        guard !changes.isEmpty else { return object }
        return try await add(.update, object.id, .object(changes), object)
    }

    /// Changes fields of an object. The server applies operations to the values that it has at that time.
    @discardableResult
    public func update(_ object: Stored<Value>, _ changes: Change<Value>...) async throws -> Stored<Value> {
        try await add(.update, object.id, try Change.body(changes), object)
    }

    /// Deletes the object permanently. Succeeds even if the object does not exist.
    public func delete(_ object: Stored<Value>) async throws {
        let write = PendingWrite(
            .delete, objectID: object.id, date: api.configuration.clock.now(), ifMatch: object.knownEntityTag)
        try await checkedStore().add(write) { _ in }
    }

    private func add(
        _ kind: PendingWrite.Kind, _ id: String, _ body: JSON, _ object: Stored<Value>? = nil
    ) async throws -> Stored<Value> {
        let write = PendingWrite(
            kind, objectID: id, body: body, date: api.configuration.clock.now(), ifMatch: object?.knownEntityTag,
            original: object?.fields)
        guard let stored = try await checkedStore().add(write, { try self.stored($0) }) else {
            throw MartletError(.objectNotFound, "The device has no object with the id \(id).")
        }
        return stored
    }
}

extension Stored {
    /// Nil for an object that the server has not confirmed.
    fileprivate var knownEntityTag: String? { version > 0 ? entityTag : nil }
}

// MARK: - Synchronizing

extension OfflineCollection {
    /// Sends the waiting writes in order, then reads the changes on the server.
    ///
    /// Calls during a synchronization share the next one.
    ///
    /// - Parameter everything: Whether all objects are read again, for example after the user's roles changed.
    /// - Throws: The error that stopped the synchronization; without a connection, one for which
    ///   ``MartletError/isConnectionFailure`` is true. Nothing is lost then: call it again. Writes that the server
    ///   refuses are not thrown but reported by ``Offline/failures()``. ``MartletError/Code/forbidden`` if the user may
    ///   not see the collection any longer; its objects are removed.
    public func sync(everything: Bool = false) async throws {
        let synchronizer = OfflineSynchronizer(store: try await checkedStore(), api: api, reports: reports)
        if everything { try await store.commit([.restart]) }
        try await store.syncRun.run { try await synchronizer.run() }
    }

    /// Synchronizes until its task is cancelled: after each write, and when something changes on the server.
    ///
    /// Without a connection it retries, after at most 30 seconds.
    ///
    /// - Throws: Errors that are not temporary, like ``sync(everything:)``.
    public func keepInSync() async throws {
        var backoff = Backoff(clock: api.configuration.clock)
        while !Task.isCancelled {
            do {
                try await sync()
                backoff.reset()
                try await waitForWork()
            } catch let error as MartletError where error.mayPass {
                try await backoff.wait(atLeast: error.retryAfter)
            } catch is CancellationError {
                return
            }
        }
    }

    /// Returns when a write waits or the server has changes.
    private func waitForWork() async throws {
        let changes = await store.changes()
        let waiter = OfflineSynchronizer(store: store, api: api, reports: reports)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await waiter.waitForServer() }
            group.addTask {
                if await !store.state.writes.isEmpty { return }
                for await _ in changes where await !store.state.writes.isEmpty { return }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
