import MartletAPI
import MartletCore
import NIOCore

/// Follows the change log of one space for all its subscribers in this copy of the service.
///
/// Subscribers with the same shape form a group. One query per group reads new changes, and each event is encoded once.
/// A group is always at one position of the log, a snapshot, so a failed read is simply repeated from there.
actor LiveTail {
    static let heartbeatInterval: Duration = .seconds(15)
    /// The maximum duration of a stream. The client then reconnects, so that keys and tokens are checked again.
    static let maximumAge: Duration = .seconds(900)
    /// The maximum number of groups that query the database at the same time.
    private static let maximumConcurrency = 16
    /// The maximum number of frames handed to event loops but not yet written.
    private static let maximumUnwrittenFrames = 20_000

    private let space: AppSchema
    private let changes: ChangeStore
    private let rights: RightsStore
    private let signal: ChangeSignal

    private var groups: [LiveShape: Group] = [:]
    private var members: [Int: LiveShape] = [:]
    private var epoch = ""
    /// The position of every group that is up to date.
    private var lastSnapshot: Snapshot?
    private var runner: Task<Void, Never>?
    /// Identifies the runner. Results of queries by an earlier runner do not apply to the current groups.
    private var generation = 0
    private var waiting: [CheckedContinuation<Bool, Never>] = []
    private var rightsRevision = 0
    private var rightsUntil = ContinuousClock.now
    /// How many subscribers joined while their rights changed, and how many of these have been checked since.
    private var (staleJoins, checkedStaleJoins) = (0, 0)
    /// The latest pass over all subscribers' rights, with the revision and the number of joins at its start.
    private var refresh: (revision: Int, joins: Int, task: Task<Void, any Error>)?
    private var lastHeartbeat = ContinuousClock.now
    private var unwrittenFrames = 0

    private struct Group {
        var position: Snapshot
        /// Whether some but not all of the changes after `position` have been delivered.
        var isPartial = false
        var subscribers: [Int: Subscriber] = [:]
    }

    struct Subscriber {
        let request: LiveRequest
        let principal: Principal
        /// The names under which lists of readers may include the subscriber; nil if it reads everything.
        var names: Set<String>?
        let outbox: Outbox
        let ends: ContinuousClock.Instant
        /// The group's frames for the subscriber while it catches up; nil once it has caught up.
        var held: [LiveFrame]? = []
        var heldSize = 0

        var readsEverything: Bool { names == nil }

        func reads(_ readers: [String]?) -> Bool {
            guard let names, let readers else { return true }
            return readers.contains { names.contains($0) }
        }
    }

    init(space: AppSchema, changes: ChangeStore, rights: RightsStore, signal: ChangeSignal) {
        self.space = space
        self.changes = changes
        self.rights = rights
        self.signal = signal
    }

    // MARK: Joining and leaving

    /// Fills the outbox with every event after `cursor`, or from now on, until `leave`. The first frame contains the
    /// start position.
    ///
    /// Returns when all missed events are in the outbox, which must be read concurrently.
    ///
    /// - Throws: `forbidden`, `cursor-expired`, and the errors of the filter.
    func join(
        _ request: LiveRequest, as principal: Principal, after cursor: ChangeCursor?, as number: Int, _ outbox: Outbox
    ) async throws {
        let revision = rights.revision
        let rights = try await rights.rights(of: principal, in: space, to: [request.collection])
        let shape = try request.shape(rights, in: space)
        let end = try await changes.end(of: request.collection, after: cursor, in: space)
        try await settle(shape)
        try Task.checkCancellation()
        epoch = end.epoch
        let position = groups[shape]?.position ?? end.snapshot
        let start = cursor ?? ChangeCursor(epoch: end.epoch, position: .at(position))
        let subscriber = Subscriber(
            request: request, principal: principal, names: Self.names(rights.identity), outbox: outbox,
            ends: .now + Self.maximumAge + .seconds(Int.random(in: 0...120)), held: cursor == nil ? nil : [])
        outbox.push(.hello(text(of: start, shape)))
        groups[shape, default: Group(position: position)].subscribers[number] = subscriber
        members[number] = shape
        // The rights may have changed since they were read. A refresh because of that change did not include this
        // subscriber.
        if self.rights.revision != revision { staleJoins += 1 }
        if runner == nil { self.start(at: end.snapshot) }
        guard cursor != nil else { return }
        try await catchUp(number, subscriber, start.position, to: position, shape)
        release(number)
    }

    /// Advances an existing group to the current end of the log, so that it is behind neither the subscriber's cursor
    /// nor the writes that the caller knows of.
    private func settle(_ shape: LiveShape) async throws {
        guard groups[shape] != nil else { return }
        repeat {
            let isDone = await advanceOnce()
            guard groups[shape] != nil else { return }
            guard isDone else { throw ServiceError(.unavailable) }
        } while groups[shape]?.isPartial == true
    }

    func leave(_ number: Int) {
        if let shape = members.removeValue(forKey: number) {
            groups[shape]?.subscribers[number] = nil
            if groups[shape]?.subscribers.isEmpty == true { groups[shape] = nil }
        }
        guard groups.isEmpty else { return }
        runner?.cancel()
        runner = nil
        generation += 1
        lastSnapshot = nil
        resumeWaiting(false)
    }

    /// Ends every stream; the clients reconnect with their cursors.
    func finish() {
        for subscriber in groups.values.flatMap(\.subscribers.values) { subscriber.outbox.finish() }
    }

    private func text(of cursor: ChangeCursor, _ shape: LiveShape) -> String {
        changes.signer.text(of: cursor, shape.collection, in: space)
    }

    private static func names(_ identity: Identity) -> Set<String>? {
        identity == .master ? nil : Set(identity.names)
    }

    private func catchUp(
        _ number: Int, _ joined: Subscriber, _ start: ChangeCursor.Position, to end: Snapshot, _ shape: LiveShape
    ) async throws {
        let outbox = joined.outbox
        let push = { (delivery: Delivery) -> Void in
            // Looked up again, because the subscriber may have lost a role since it joined.
            guard let subscriber = self.groups[shape]?.subscribers[number] else { return }
            if let frame = delivery.frame(for: subscriber) { outbox.push(frame, isBounded: false) }
        }
        switch start {
        case .at(let snapshot), .walking(let snapshot, _):
            try await read(from: snapshot, to: end, after: 0, shape, pace: outbox, push)
        case .within(let from, let to, let seq):
            try await read(from: from, to: to, after: seq, shape, pace: outbox, push)
            try await read(from: to, to: end, after: 0, shape, pace: outbox, push)
        }
        // The log may have been pruned while it was read.
        let cursor = ChangeCursor(epoch: epoch, position: start)
        _ = try await changes.end(of: joined.request.collection, after: cursor, in: space)
    }

    /// Passes on the frames that the group held back for the subscriber, which from now on receives events with its
    /// group.
    private func release(_ number: Int) {
        guard let shape = members[number], let subscriber = groups[shape]?.subscribers[number] else { return }
        for frame in subscriber.held ?? [] { subscriber.outbox.push(frame) }
        groups[shape]?.subscribers[number]?.held = nil
    }

    // MARK: Following

    private func start(at snapshot: Snapshot) {
        lastSnapshot = snapshot
        lastHeartbeat = .now
        let wakes = signal.follow(space)
        // There may have been changes since the snapshot.
        signal.wake(space.schema)
        runner = Task { [weak self, signal, space, generation] in
            await withTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: ChangeSignal.pollInterval)) != nil { signal.wake(space.schema) }
                }
                // Rights are refreshed before they expire. Refreshing them in the cycle would delay events: it takes a
                // tenth of a second for two thousand users.
                tasks.addTask { [weak self] in
                    while (try? await Task.sleep(for: ChangeSignal.pollInterval)) != nil {
                        try? await self?.refreshRights(ahead: RightsStore.validity / 2)
                    }
                }
                for await _ in wakes {
                    guard let self, !Task.isCancelled else { break }
                    await self.runCycle(generation)
                }
                tasks.cancelAll()
            }
        }
    }

    private func runCycle(_ generation: Int) async {
        guard generation == self.generation else { return }
        let waiting = waiting
        self.waiting = []
        var isDone = true
        do {
            try await refreshRights()
            try await advance(generation)
        } catch {
            isDone = false
        }
        isDone = isDone && generation == self.generation
        for continuation in waiting { continuation.resume(returning: isDone) }
        if generation == self.generation { maintainStreams() }
    }

    /// Waits for a cycle that began after this call; returns false if it failed.
    private func advanceOnce() async -> Bool {
        guard runner != nil else { return true }
        signal.wake(space.schema)
        return await withCheckedContinuation { waiting.append($0) }
    }

    private func resumeWaiting(_ isDone: Bool) {
        let continuations = waiting
        waiting = []
        for continuation in continuations { continuation.resume(returning: isDone) }
    }

    /// Advances every group to the end of the log.
    private func advance(_ generation: Int) async throws {
        let collections = Set(groups.keys.map(\.collection))
        let before = groups.mapValues(\.position)
        let latest = try await changes.changedCollections(of: Array(collections), since: lastSnapshot, in: space)
        guard generation == self.generation else { return }
        guard latest.end.epoch == epoch else { return endAll() }
        let known = lastSnapshot
        var lagging: [LiveShape] = []
        for (shape, group) in groups {
            // A group that was just created may be ahead of `latest`; the next cycle advances it.
            guard before[shape] == group.position else {
                signal.wake(space.schema)
                continue
            }
            if group.position == known, !latest.changed.contains(shape.collection) {
                groups[shape]?.position = latest.end.snapshot
            } else {
                lagging.append(shape)
            }
        }
        lastSnapshot = latest.end.snapshot
        await withTaskGroup(of: Void.self) { tasks in
            for (number, shape) in lagging.enumerated() {
                if number >= Self.maximumConcurrency { await tasks.next() }
                tasks.addTask { await self.advance(shape, to: latest.end.snapshot, generation) }
            }
        }
        await waitUntilWritten()
    }

    private func advance(_ shape: LiveShape, to end: Snapshot, _ generation: Int) async {
        guard generation == self.generation, let position = groups[shape]?.position else { return }
        do {
            try await read(from: position, to: end, after: 0, shape) { change in
                guard generation == self.generation else { return }
                groups[shape]?.isPartial = true
                deliver(change, to: shape)
            }
            guard generation == self.generation else { return }
            groups[shape]?.position = end
            groups[shape]?.isPartial = false
        } catch  where generation != self.generation {
            return
        } catch let problem as ServiceError where problem.isCallersFault {
            close(shape, with: .error(problem))
        } catch {
            // Changes that were already delivered must not be repeated, so the streams end and clients reconnect with
            // their cursors.
            close(shape)
        }
    }

    /// Reads the changes between two snapshots in order, each with the cursor after it.
    ///
    /// - Parameter pace: The outbox of the single subscriber that is catching up. It gets only those missed
    ///   changes whose objects it may read now.
    private func read(
        from: Snapshot, to: Snapshot, after seq: Int64, _ shape: LiveShape, pace: Outbox? = nil,
        _ body: (Delivery) -> Void
    ) async throws {
        guard from != to else { return }
        var seq = seq
        let isPast = pace != nil
        while let batch = try await changes.changes(
            from: from, to: to, after: seq, of: shape, isPast: isPast, in: space)
        {
            // The writes that were just read may be later than a change of rights. A subscriber whose rights have
            // changed gets none of them.
            try await refreshRights()
            for row in batch.rows {
                let change = try LiveChange(row)
                guard !change.isForNone else { continue }
                let isLast = !batch.hasMore && change.seq == batch.last
                let position: ChangeCursor.Position = isLast ? .at(to) : .within(from: from, to: to, seq: change.seq)
                body(Delivery(change, cursor: text(of: ChangeCursor(epoch: epoch, position: position), shape)))
                if unwrittenFrames >= Self.maximumUnwrittenFrames { await waitUntilWritten() }
            }
            guard batch.hasMore else { return }
            seq = batch.last
            try await pace?.untilNearlyEmpty()
        }
    }

    private func deliver(_ delivery: Delivery, to shape: LiveShape) {
        guard let group = groups[shape] else { return }
        var fanOut = FrameFanOut()
        for (number, subscriber) in group.subscribers {
            guard let frame = delivery.frame(for: subscriber) else { continue }
            if subscriber.held == nil {
                fanOut.add(frame, for: subscriber.outbox)
                unwrittenFrames += 1
            } else if subscriber.held!.count < Outbox.maximumFrames,
                subscriber.heldSize + frame.size <= Outbox.maximumSizeInBytes
            {
                groups[shape]?.subscribers[number]?.held?.append(frame)
                groups[shape]?.subscribers[number]?.heldSize += frame.size
            } else {
                subscriber.outbox.finish()
            }
        }
        fanOut.end()
    }

    /// Waits until the event loops have written the frames handed to them. Nothing else limits how many are pending.
    private func waitUntilWritten() async {
        guard unwrittenFrames > 0 else { return }
        unwrittenFrames = 0
        var loops: [ObjectIdentifier: any EventLoop] = [:]
        for subscriber in groups.values.flatMap(\.subscribers.values) {
            if let loop = subscriber.outbox.eventLoop { loops[ObjectIdentifier(loop)] = loop }
        }
        for loop in loops.values { try? await loop.submit {}.get() }
    }

    // MARK: Rights

    /// Applies changes of rules and roles: a subscriber that now sees other objects or fields reconnects with its new
    /// rights, or gets an error.
    ///
    /// - Parameter ahead: How long before their expiry rights are refreshed.
    private func refreshRights(ahead: Duration = .zero) async throws {
        let (revision, joins, now) = (rights.revision, staleJoins, ContinuousClock.now)
        guard revision != rightsRevision || rightsUntil < now + ahead || joins != checkedStaleJoins else { return }
        // Groups that are read at the same time share a pass.
        if let refresh, refresh.revision == revision, refresh.joins == joins { return try await refresh.task.value }
        let task = Task { try await refreshAll(at: revision, joins, now, ahead) }
        refresh = (revision, joins, task)
        defer { if refresh?.task == task { refresh = nil } }
        try await task.value
    }

    private func refreshAll(
        at revision: Int, _ joins: Int, _ now: ContinuousClock.Instant, _ ahead: Duration
    ) async throws {
        let principals = Set(groups.values.flatMap(\.subscribers.values).map(\.principal))
        try await rights.prepare(principals.compactMap(\.userID), in: space, for: ahead)
        var known: [Principal: Rights] = [:]
        for principal in principals {
            known[principal] = try await rights.rights(of: principal, in: space, evenIfClosed: true)
        }
        // A pass that began later has newer rights and includes more subscribers.
        guard revision >= rightsRevision, joins >= checkedStaleJoins else { return }
        apply(known)
        (rightsRevision, checkedStaleJoins) = (revision, joins)
        rightsUntil = now + RightsStore.validity
    }

    private func apply(_ known: [Principal: Rights]) {
        for (shape, group) in groups {
            var shapes: [LiveRequest: [Identity: Result<LiveShape, any Error>]] = [:]
            // A principal that this pass did not look up joined in the meantime, with the rights of that time.
            for (number, subscriber) in group.subscribers {
                guard let rights = known[subscriber.principal] else { continue }
                let result =
                    shapes[subscriber.request]?[rights.identity]
                    ?? Result { try subscriber.request.shape(rights, in: space) }
                shapes[subscriber.request, default: [:]][rights.identity] = result
                switch result {
                case .success(shape): groups[shape]?.subscribers[number]?.names = Self.names(rights.identity)
                case .success: subscriber.outbox.finish()
                case .failure(let problem as ServiceError): subscriber.outbox.finish(with: .error(problem))
                case .failure: subscriber.outbox.finish()
                }
            }
        }
    }

    // MARK: Ending

    /// Sends heartbeats, and ends streams that have reached their maximum duration.
    private func maintainStreams() {
        let now = ContinuousClock.now
        guard now - lastHeartbeat >= Self.heartbeatInterval else { return }
        lastHeartbeat = now
        for (shape, group) in groups {
            let frame = LiveFrame.heartbeat(text(of: ChangeCursor(epoch: epoch, position: .at(group.position)), shape))
            var fanOut = FrameFanOut()
            for subscriber in group.subscribers.values where subscriber.held == nil {
                if subscriber.ends < now {
                    subscriber.outbox.finish()
                } else {
                    fanOut.add(frame, for: subscriber.outbox)
                }
            }
            fanOut.end()
        }
    }

    private func close(_ shape: LiveShape, with last: LiveFrame? = nil) {
        guard let group = groups.removeValue(forKey: shape) else { return }
        for (number, subscriber) in group.subscribers {
            subscriber.outbox.finish(with: last)
            members[number] = nil
        }
    }

    /// Ends every stream, because the log was replaced.
    private func endAll() {
        for shape in groups.keys { close(shape, with: .error(ServiceError(.cursorExpired))) }
    }
}

/// One change to be delivered; each form of its event is encoded on first use.
final class Delivery {
    private let change: LiveChange
    private let cursor: String
    private var frames: [LiveChange.Event: [Bool: LiveFrame]] = [:]

    init(_ change: LiveChange, cursor: String) {
        self.change = change
        self.cursor = cursor
    }

    func frame(for subscriber: LiveTail.Subscriber) -> LiveFrame? {
        let after = subscriber.reads(change.readersAfter)
        let before = subscriber.reads(change.readersBefore)
        guard let event = change.event(readsAfter: after, readsBefore: before) else { return nil }
        let isOpenNow = subscriber.readsEverything || (change.isReadableNow && subscriber.reads(change.readersNow))
        let shows = change.shows(event, readsAfter: after) && isOpenNow
        if let frame = frames[event]?[shows] { return frame }
        let frame = change.frame(event, shows: shows, cursor: cursor)
        frames[event, default: [:]][shows] = frame
        return frame
    }
}
