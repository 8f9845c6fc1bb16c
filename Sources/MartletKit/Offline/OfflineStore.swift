import Foundation

/// The objects and writes of one collection and user, in memory and on disk.
actor OfflineStore {
    nonisolated let collection: String
    /// Whose objects they are; nil: those that everybody with the app may see.
    nonisolated let userID: String?
    /// One synchronization at a time.
    nonisolated let syncRun = SharedRun()

    private let journal: Journal
    private let options: OfflineOptions
    private var observers: [UUID: AsyncStream<Void>.Continuation] = [:]
    private(set) var state = OfflineState()
    private var table = OfflineTable()
    private(set) var filter: LocalFilter
    /// What to do about conflicts, as the collection was last opened.
    private(set) var resolver: ConflictResolver

    /// A damaged file is no error: what can be read of it stays, and objects are synchronized anew.
    init(
        _ collection: String, userID: String?, in folder: LocalFolder, options: OfflineOptions,
        resolver: ConflictResolver
    ) throws {
        self.collection = collection
        self.userID = userID
        self.options = options
        self.resolver = resolver
        filter = try LocalFilter([:])
        journal = try Journal(Self.fileName(collection), in: folder)
        let content = try journal.read()
        for line in content.lines {
            for record in (line.arrayValue ?? []).compactMap(OfflineRecord.init) { state.apply(record) }
        }
        if content.isDamaged {
            state.apply(.wipe)
            try journal.replace(try state.snapshot.map(Self.line))
        }
    }

    /// Distinct also where the file system does not distinguish capitals.
    private static func fileName(_ collection: String) -> String {
        let sign = SHA256Digest.hexadecimal(Data(collection.utf8)).prefix(8)
        return APIRequest.escape(collection) + "-" + sign + ".journal"
    }

    private static func line(_ records: [OfflineRecord]) throws -> JSON { .array(try records.map { try $0.json }) }

    func open(filter json: JSON, resolver: ConflictResolver) throws {
        filter = try LocalFilter(json)
        self.resolver = resolver
        if json != state.filter { try commit([.filter(json)]) }
    }

    /// Ends the use of the store, as a crash would: nothing is written from now on.
    func close() { journal.closeFiles() }

    /// Makes the records part of the state: all or none, in memory only after they are on disk.
    func commit(_ records: [OfflineRecord], durably: Bool = false) throws {
        guard !records.isEmpty else { return }
        try journal.append(try Self.line(records), durably: durably)
        for record in records { state.apply(record) }
        if state.recordedCount > 3 * state.liveCount + 2_000 { try compact() }
        for observer in observers.values { observer.yield() }
    }

    private func compact() throws {
        let lines = state.snapshot
        try journal.replace(try lines.map(Self.line))
        var fresh = OfflineState()
        for record in lines.joined() { fresh.apply(record) }
        state = fresh
        table = OfflineTable()
    }

    /// Yields after each change, once for several.
    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        observers[id] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.removeObserver(id) } }
        return stream
    }

    private func removeObserver(_ id: UUID) { observers[id] = nil }
}

extension OfflineStore {
    func object(_ id: String) -> JSON? { state.object(id) }

    func answer(_ query: LocalQuery) -> [JSON] {
        refreshTable()
        return query.answer(&table)
    }

    func count(_ query: LocalQuery) -> Int {
        refreshTable()
        return query.count(&table)
    }

    private func refreshTable() {
        for (id, object) in state.takeTouched() { table.update(id, to: object) }
    }

    /// Adds a write, or merges it with the object's last one. It is on disk when this returns.
    ///
    /// - Returns: The object after the write; nil if it is deleted.
    @discardableResult
    func add(_ write: PendingWrite) throws -> JSON? {
        try check(write)
        var records: [OfflineRecord] = [.write(write)]
        if let last = state.lastWrite(of: write.objectID) {
            switch last.merged(with: write) {
            case .one(let merged): records = [.write(merged)]
            case .nothing: records = [.done(id: last.id)]
            case .both: break
            }
        }
        try checkLimits(write)
        try commit(records, durably: true)
        return state.object(write.objectID)
    }

    private func check(_ write: PendingWrite) throws {
        let object = state.object(write.objectID)
        switch write.kind {
        case .create where object != nil && !write.replaces:
            throw MartletError(.preconditionFailed, "There is an object with the id \(write.objectID).")
        case .update where object == nil:
            throw MartletError(.objectNotFound, "The device has no object with the id \(write.objectID).")
        case .update: if let object, let body = write.body { try Self.checkApplies(body, to: object) }
        case .create, .delete: break
        }
    }

    private static func checkApplies(_ body: JSON, to object: JSON) throws {
        do {
            _ = try FieldOperations.apply(body, to: object)
        } catch {
            throw MartletError(.invalidArgument, "A change does not fit the value that the object has.")
        }
    }

    private func checkLimits(_ write: PendingWrite) throws {
        guard state.writes.count < options.maximumPendingWrites,
            state.outboxSize + write.size <= options.maximumPendingBytes
        else {
            throw MartletError(
                .outboxFull, "\(state.writes.count) writes of \(collection) wait to be sent, which is the limit.")
        }
    }

    /// The first write that waits, of an object that is not among these. From now on nothing is merged into it.
    func beginSending(except blocked: Set<String>, at time: Date) throws -> PendingWrite? {
        guard var write = state.writes.first(where: { !blocked.contains($0.objectID) }) else { return nil }
        guard write.firstSent == nil else { return write }
        write.firstSent = time
        // The server knows its key from now on, also after a crash.
        try commit([.write(write)], durably: true)
        return write
    }

    /// Ends a write. The object's next one expects the state that this one made, or else the one it expected.
    func finish(_ write: PendingWrite, _ object: OfflineRecord?, made state: JSON? = nil) throws {
        var records = (object.map { [$0] } ?? []) + [.done(id: write.id)]
        if var next = self.state.write(after: write), next.kind != .create {
            next.ifMatch = state?.entityTag ?? write.ifMatch
            if next.kind == .update { next.original = state ?? write.original }
            records.append(.write(next))
        }
        try commit(records)
    }

    var position: (cursor: String?, filter: JSON, fullySynced: Date?) {
        (state.cursor, state.filter, state.fullySynced)
    }

    /// Drops a page that answers a question that is no longer the present one.
    ///
    /// - Returns: Whether there is more to read.
    func receive(_ page: OfflineRecord.Page, since cursor: String?, filter: JSON) throws -> Bool {
        guard cursor == state.cursor, filter == state.filter else { return true }
        if page.cursor != cursor || !page.changed.isEmpty || !page.deleted.isEmpty { try commit([.page(page)]) }
        return page.hasMore
    }
}

extension JSON {
    /// The entity tag of an object as the server answers it.
    var entityTag: String? {
        guard let version = self["_version"]?.intValue, version > 0, let updated = self["updated"]?.dateValue else {
            return nil
        }
        return "\"\(version)-\(Int64((updated.timeIntervalSince1970 * 1_000).rounded()))\""
    }
}
