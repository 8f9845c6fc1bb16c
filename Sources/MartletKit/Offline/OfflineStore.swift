import Foundation

/// The objects and writes of one collection and user, in memory and on disk.
actor OfflineStore {
    nonisolated let collection: String
    /// The user who may see the objects; nil: everybody who has the app may see them.
    nonisolated let userID: String?
    /// One synchronization at a time.
    nonisolated let syncRun = SharedRun()

    private let journal: Journal
    private let configuration: Martlet.Configuration
    private let observers = Observers<Void>()
    private(set) var state: OfflineState
    private var table = OfflineTable()
    private var failedCompactionSize = 0
    private(set) var filter: LocalFilter
    /// The resolution of conflicts, as given when the collection was last opened.
    private(set) var resolver: ConflictResolver

    /// A damaged file is not an error: its readable writes are kept, and the next synchronization reads all objects.
    init(
        _ collection: String, userID: String?, in folder: LocalFolder, configuration: Martlet.Configuration,
        resolver: ConflictResolver
    ) throws {
        self.collection = collection
        self.userID = userID
        self.configuration = configuration
        self.resolver = resolver
        filter = try LocalFilter([:])
        journal = try Journal(Self.fileName(collection), in: folder)
        var state = OfflineState()
        let isDamaged = try journal.read { line in
            for record in (line.arrayValue ?? []).compactMap(OfflineRecord.init) { state.apply(record) }
        }
        if isDamaged {
            state.apply(.wipe)
            try journal.replace(try state.snapshot.map(Self.line))
        }
        self.state = state
    }

    /// Distinct even on file systems that ignore case.
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

    /// Closes the store as a crash would: nothing more is written.
    ///
    /// - Parameter erases: Whether to also remove the objects from memory, so that nothing can be read afterwards.
    func close(erases: Bool = false) {
        journal.closeFiles()
        guard erases else { return }
        state = OfflineState()
        table = OfflineTable()
        observers.yield(())
    }

    /// Makes the records part of the state: all or none, and in memory only once they are on disk.
    func commit(_ records: [OfflineRecord], durably: Bool = false) throws {
        guard !records.isEmpty else { return }
        let line = try Self.line(records)
        do {
            try journal.append(line, durably: durably)
        } catch let error as MartletError where error.code == .offlineStoreFull {
            guard journal.size > journal.compactedSize else { throw error }
            try compact()
            try journal.append(line, durably: durably)
        }
        for record in records { state.apply(record) }
        compactIfOutdated()
        observers.yield(())
    }

    /// Rewrites the journal when most of it may be outdated. A failure is ignored, because the
    /// records are on disk already.
    private func compactIfOutdated() {
        let limit = 2 * journal.compactedSize + configuration.offline.compactionSlack
        guard journal.size > max(limit, failedCompactionSize * 3 / 2) else { return }
        do {
            try compact()
            failedCompactionSize = 0
        } catch {
            failedCompactionSize = journal.size
            configuration.log(
                .warning, "Could not rewrite the file of a collection; retrying when it has grown by half",
                ["collection": collection, "error.message": "\(error)"])
        }
    }

    private func compact() throws {
        let lines = state.snapshot
        try journal.replace(try lines.map(Self.line))
        var fresh = OfflineState()
        for record in lines.joined() { fresh.apply(record) }
        state = fresh
        table = OfflineTable()
    }

    /// Yields after changes. Several changes in a row may count as one.
    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        observers.add(continuation)
        return stream
    }
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
    /// - Parameter read: Called with the object after the write. If it throws, nothing is written.
    /// - Returns: The result of `read`; nil if the write deletes the object.
    @discardableResult
    func add<Answer: Sendable>(
        _ write: PendingWrite, _ read: @Sendable (JSON) throws -> Answer
    ) throws -> Answer? {
        try check(write)
        let answer = try write.applied(to: state.object(write.objectID)).map(read)
        let last = state.lastWrite(of: write.objectID)
        switch last?.merged(with: write) ?? .both {
        case .one(let merged):
            try checkSize(growth: merged.size - (last?.size ?? 0))
            try commit([.write(merged)], durably: true)
        case .nothing: try commit(last.map { [.done(id: $0.id)] } ?? [], durably: true)
        case .both:
            guard state.writes.count < configuration.offline.maximumPendingWrites else { throw full }
            try checkSize(growth: write.size)
            try commit([.write(write)], durably: true)
        }
        return answer
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

    private func checkSize(growth: Int) throws {
        guard growth <= 0 || state.outboxSize + growth <= configuration.offline.maximumPendingBytes else { throw full }
    }

    private var full: MartletError {
        MartletError(.outboxFull, "\(state.writes.count) writes of \(collection) wait to be sent, which is the limit.")
    }

    /// The first waiting write of an object that is not `blocked`. From now on, nothing is merged into it.
    ///
    /// - Returns: The write, and whether it has never been sent before.
    func beginSending(except blocked: Set<String>, at time: Date) throws -> (write: PendingWrite, isFirst: Bool)? {
        guard let write = state.writes.first(where: { !blocked.contains($0.objectID) }) else { return nil }
        guard write.firstSent == nil else { return (write, false) }
        // The server knows its key from now on, also after a crash.
        try commit([.sending(id: write.id, since: time, checksVersion: resolver.checksVersion)], durably: true)
        return state.writes.first { $0.id == write.id }.map { ($0, true) }
    }

    /// Marks a write as not sent, because its first request never left the device.
    func takeBack(_ write: PendingWrite) throws {
        try commit([.sending(id: write.id, since: nil, checksVersion: false)])
    }

    /// Replaces a write with the result of its merge; nil: nothing is left to do.
    ///
    /// The user made the object's next write without seeing this result. That write therefore keeps the state that the
    /// user saw, and will conflict in turn.
    func replace(_ write: PendingWrite, with merged: PendingWrite?, _ object: OfflineRecord) throws {
        var records = [object, merged.map { .write($0, insteadOf: write.id) } ?? .done(id: write.id)]
        if var next = state.write(after: write), next.kind != .create, next.isStale != true {
            if next.kind == .update { next.original = write.applied(to: write.original) }
            next.ifMatch = write.ifMatch ?? Self.noEntityTag
            next.isStale = true
            records.append(.write(next))
        }
        try commit(records)
    }

    /// An entity tag that no object has, because versions begin at 1.
    private static let noEntityTag = "\"0-0\""

    /// Ends a write. The object's next one then expects the state that this one produced, or else the one that this one
    /// expected.
    func finish(_ write: PendingWrite, _ object: OfflineRecord?, made state: JSON? = nil) throws {
        var records = (object.map { [$0] } ?? []) + [.done(id: write.id)]
        if var next = self.state.write(after: write), next.kind != .create, next.isStale != true {
            next.ifMatch = state?.entityTag ?? write.ifMatch
            if next.kind == .update { next.original = state ?? write.original }
            records.append(.write(next))
        }
        try commit(records)
    }

    var position: (cursor: String?, filter: JSON) { (state.cursor, state.filter) }

    /// Stores a page. Drops it if it belongs to another cursor or filter than the present one.
    ///
    /// - Returns: Whether there is more to read.
    func receive(_ page: OfflineRecord.Page, since cursor: String?, filter: JSON) throws -> Bool {
        guard cursor == state.cursor, filter == state.filter else { return true }
        if page.cursor != cursor || !page.changed.isEmpty || !page.deleted.isEmpty { try commit([.page(page)]) }
        return page.hasMore
    }
}

extension JSON {
    /// The entity tag of an object as the server returns it.
    var entityTag: String? {
        guard let version = self["_version"]?.intValue, version > 0, let updated = self["updated"]?.dateValue else {
            return nil
        }
        return "\"\(version)-\(Int64((updated.timeIntervalSince1970 * 1_000).rounded()))\""
    }
}
