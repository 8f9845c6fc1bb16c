import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Follows the change log of one space for all subscribers that this copy of the service has there.
///
/// Subscribers of one shape are a group: one query per group looks for what is new, and each event's text is made once.
/// A group is always at one place of the log, which a snapshot says; what failed is simply asked for again from there.
actor LiveTail {
    static let heartbeatInterval: Duration = .seconds(15)
    /// A stream ends after this long and is taken up again by the client, so that keys and tokens are looked at anew.
    static let maximumAge: Duration = .seconds(900)
    /// Groups that ask the database at the same time.
    private static let maximumConcurrency = 16
    /// Frames on their way to event loops.
    private static let maximumHanded = 20_000

    private let space: AppSpace
    private let changes: ChangeStore
    private let rights: RightsStore
    private let signal: ChangeSignal

    private var groups: [LiveShape: Group] = [:]
    private var members: [Int: LiveShape] = [:]
    private var epoch = ""
    /// Where every group is that missed nothing.
    private var level: Snapshot?
    private var runner: Task<Void, Never>?
    /// Of the runner: what an earlier one still asks for concerns none of the groups that are there now.
    private var generation = 0
    private var waiting: [CheckedContinuation<Bool, Never>] = []
    private var rightsRevision = 0
    private var rightsUntil = ContinuousClock.now
    /// Somebody came with rights that had changed meanwhile.
    private var hasStaleRights = false
    private var lastHeartbeat = ContinuousClock.now
    private var handed = 0

    private struct Group {
        var position: Snapshot
        /// Some of what comes after `position` was handed out already, and not all.
        var isPartial = false
        var subscribers: [Int: Subscriber] = [:]
    }

    struct Subscriber {
        let request: LiveRequest
        let principal: Principal
        /// Nil: reads everything.
        var names: Set<String>?
        let outbox: Outbox
        let ends: ContinuousClock.Instant
        /// What the group had for it while it was still catching up; nil: it has caught up.
        var held: [LiveFrame]? = []
        var heldSize = 0

        var readsEverything: Bool { names == nil }

        func reads(_ readers: [String]?) -> Bool {
            guard let names, let readers else { return true }
            return readers.contains { names.contains($0) }
        }
    }

    init(space: AppSpace, changes: ChangeStore, rights: RightsStore, signal: ChangeSignal) {
        self.space = space
        self.changes = changes
        self.rights = rights
        self.signal = signal
    }

    // MARK: Coming and going

    /// Fills the outbox with every event behind `cursor`, or from now on, until `leave`. The first element says where
    /// that is.
    ///
    /// Returns when what was missed is in the outbox, which has to be read meanwhile.
    ///
    /// - Throws: `forbidden`, `cursor-expired`, and what is wrong with the filter.
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
        // They may have changed since they were asked for, and turns that heard of it did not know this one.
        if self.rights.revision != revision { hasStaleRights = true }
        if runner == nil { self.start(at: end.snapshot) }
        guard cursor != nil else { return }
        try await catchUp(subscriber, start.position, to: position, shape)
        release(number)
    }

    /// A group that is there may lag behind what the cursor has seen, or what the asker knows to be written.
    private func settle(_ shape: LiveShape) async throws {
        guard groups[shape] != nil else { return }
        repeat {
            let isDone = await advanceOnce()
            guard groups[shape] != nil else { return }
            guard isDone else { throw HTTPProblem(.unavailable) }
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
        level = nil
        resumeWaiting(false)
    }

    /// Ends every stream; the clients come back by their cursors.
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
        _ subscriber: Subscriber, _ start: ChangeCursor.Position, to end: Snapshot, _ shape: LiveShape
    ) async throws {
        let outbox = subscriber.outbox
        let push = { (delivery: Delivery) in
            if let frame = delivery.frame(for: subscriber) { outbox.push(frame, isBounded: false) }
        }
        switch start {
        case .at(let snapshot), .walking(let snapshot, _):
            try await read(from: snapshot, to: end, after: 0, shape, pace: outbox, push)
        case .within(let from, let to, let seq):
            try await read(from: from, to: to, after: seq, shape, pace: outbox, push)
            try await read(from: to, to: end, after: 0, shape, pace: outbox, push)
        }
        // What was read may have been taken out of the log just before.
        let cursor = ChangeCursor(epoch: epoch, position: start)
        _ = try await changes.end(of: subscriber.request.collection, after: cursor, in: space)
    }

    /// What its group had meanwhile follows, and from now on it goes with the group.
    private func release(_ number: Int) {
        guard let shape = members[number], let subscriber = groups[shape]?.subscribers[number] else { return }
        for frame in subscriber.held ?? [] { subscriber.outbox.push(frame) }
        groups[shape]?.subscribers[number]?.held = nil
    }

    // MARK: Following

    private func start(at snapshot: Snapshot) {
        level = snapshot
        lastHeartbeat = .now
        let wakes = signal.follow(space)
        // For what was written since the snapshot.
        signal.wake(space.schema)
        runner = Task { [weak self, signal, space, generation] in
            await withTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: ChangeSignal.pollInterval)) != nil { signal.wake(space.schema) }
                }
                // Ahead of the turn that would need it: for two thousand users it takes a tenth of a second, and events
                // would wait.
                tasks.addTask { [weak self] in
                    while (try? await Task.sleep(for: ChangeSignal.pollInterval)) != nil {
                        try? await self?.refreshRights(ahead: RightsStore.validity / 2)
                    }
                }
                for await _ in wakes {
                    guard let self, !Task.isCancelled else { break }
                    await self.turn(generation)
                }
                tasks.cancelAll()
            }
        }
    }

    private func turn(_ generation: Int) async {
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
        if generation == self.generation { keepUp() }
    }

    /// Waits for a turn that began after this call; false when it failed.
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

    /// Brings every group to the log's end.
    private func advance(_ generation: Int) async throws {
        let collections = Set(groups.keys.map(\.collection))
        let before = groups.mapValues(\.position)
        let news = try await changes.news(of: Array(collections), since: level, in: space)
        guard generation == self.generation else { return }
        guard news.end.epoch == epoch else { return startOver() }
        let known = level
        var behind: [LiveShape] = []
        for (shape, group) in groups {
            // One that came meanwhile may know more than the news: it is looked at in the next turn.
            guard before[shape] == group.position else {
                signal.wake(space.schema)
                continue
            }
            if group.position == known, !news.changed.contains(shape.collection) {
                groups[shape]?.position = news.end.snapshot
            } else {
                behind.append(shape)
            }
        }
        level = news.end.snapshot
        await withTaskGroup(of: Void.self) { tasks in
            for (number, shape) in behind.enumerated() {
                if number >= Self.maximumConcurrency { await tasks.next() }
                tasks.addTask { await self.advance(shape, to: news.end.snapshot, generation) }
            }
        }
        await untilHanded()
    }

    private func advance(_ shape: LiveShape, to end: Snapshot, _ generation: Int) async {
        guard generation == self.generation, let position = groups[shape]?.position else { return }
        do {
            try await read(from: position, to: end, after: 0, shape) { change in
                guard generation == self.generation else { return }
                groups[shape]?.isPartial = true
                hand(change, to: shape)
            }
            guard generation == self.generation else { return }
            groups[shape]?.position = end
            groups[shape]?.isPartial = false
        } catch  where generation != self.generation {
            return
        } catch let problem as HTTPProblem where problem.code.status < 500 {
            close(shape, with: .error(problem))
        } catch {
            // What was handed out must not come again: the streams end and are taken up by their cursors.
            close(shape)
        }
    }

    /// Reads the changes between two snapshots in order, with the cursor behind each.
    ///
    /// - Parameter pace: the outbox of one subscriber who catches up; what it missed is shown only as far as it may see
    ///   the objects now.
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
            for row in batch.rows {
                let change = try LiveChange(row)
                guard !change.isForNone else { continue }
                let isLast = !batch.hasMore && change.seq == batch.last
                let position: ChangeCursor.Position = isLast ? .at(to) : .within(from: from, to: to, seq: change.seq)
                body(Delivery(change, cursor: text(of: ChangeCursor(epoch: epoch, position: position), shape)))
                if handed >= Self.maximumHanded { await untilHanded() }
            }
            guard batch.hasMore else { return }
            seq = batch.last
            try await pace?.untilNearlyEmpty()
        }
    }

    private func hand(_ delivery: Delivery, to shape: LiveShape) {
        guard let group = groups[shape] else { return }
        var handout = Handout()
        for (number, subscriber) in group.subscribers {
            guard let frame = delivery.frame(for: subscriber) else { continue }
            if subscriber.held == nil {
                handout.add(frame, for: subscriber.outbox)
                handed += 1
            } else if subscriber.held!.count < Outbox.maximumFrames,
                subscriber.heldSize + frame.size <= Outbox.maximumSizeInBytes
            {
                groups[shape]?.subscribers[number]?.held?.append(frame)
                groups[shape]?.subscribers[number]?.heldSize += frame.size
            } else {
                subscriber.outbox.finish()
            }
        }
        handout.end()
    }

    /// Waits until the event loops have written what was handed out: what waits there, nobody else bounds.
    private func untilHanded() async {
        guard handed > 0 else { return }
        handed = 0
        var loops: [ObjectIdentifier: any EventLoop] = [:]
        for subscriber in groups.values.flatMap(\.subscribers.values) {
            if let loop = subscriber.outbox.eventLoop { loops[ObjectIdentifier(loop)] = loop }
        }
        for loop in loops.values { try? await loop.submit {}.get() }
    }

    // MARK: Rights

    /// Rules and roles may have changed: whoever no longer sees the same comes back with the new rights, or is told why
    /// not.
    ///
    /// - Parameter ahead: how long before their time rights are looked at anew.
    private func refreshRights(ahead: Duration = .zero) async throws {
        let (revision, now) = (rights.revision, ContinuousClock.now)
        let isTurn = ahead == .zero
        guard revision != rightsRevision || rightsUntil < now + ahead || (isTurn && hasStaleRights) else { return }
        // The turn waits for it, and turns come one after the other. Set again meanwhile, it concerns somebody whom
        // this pass does not know.
        let wasStale = isTurn && hasStaleRights
        if isTurn { hasStaleRights = false }
        do {
            try await refreshAll(at: revision, now, ahead)
        } catch {
            hasStaleRights = hasStaleRights || wasStale
            throw error
        }
    }

    private func refreshAll(at revision: Int, _ now: ContinuousClock.Instant, _ ahead: Duration) async throws {
        let principals = Set(groups.values.flatMap(\.subscribers.values).map(\.principal))
        try await rights.prepare(principals.compactMap(\.userID), in: space, for: ahead)
        var known: [Principal: Rights] = [:]
        for principal in principals {
            known[principal] = try await rights.rights(of: principal, in: space, evenIfClosed: true)
        }
        // Another pass, which began later, knows better.
        guard revision >= rightsRevision else { return }
        apply(known)
        rightsRevision = revision
        rightsUntil = now + RightsStore.validity
    }

    private func apply(_ known: [Principal: Rights]) {
        for (shape, group) in groups {
            var shapes: [LiveRequest: [Identity: Result<LiveShape, any Error>]] = [:]
            // Who is not known came meanwhile, with rights of that time.
            for (number, subscriber) in group.subscribers {
                guard let rights = known[subscriber.principal] else { continue }
                let result =
                    shapes[subscriber.request]?[rights.identity]
                    ?? Result { try subscriber.request.shape(rights, in: space) }
                shapes[subscriber.request, default: [:]][rights.identity] = result
                switch result {
                case .success(shape): groups[shape]?.subscribers[number]?.names = Self.names(rights.identity)
                case .success: subscriber.outbox.finish()
                case .failure(let problem as HTTPProblem): subscriber.outbox.finish(with: .error(problem))
                case .failure: subscriber.outbox.finish()
                }
            }
        }
    }

    // MARK: Ending

    /// Heartbeats, and the end of streams that have been open for long.
    private func keepUp() {
        let now = ContinuousClock.now
        guard now - lastHeartbeat >= Self.heartbeatInterval else { return }
        lastHeartbeat = now
        for (shape, group) in groups {
            let frame = LiveFrame.heartbeat(text(of: ChangeCursor(epoch: epoch, position: .at(group.position)), shape))
            var handout = Handout()
            for subscriber in group.subscribers.values where subscriber.held == nil {
                if subscriber.ends < now {
                    subscriber.outbox.finish()
                } else {
                    handout.add(frame, for: subscriber.outbox)
                }
            }
            handout.end()
        }
    }

    private func close(_ shape: LiveShape, with last: LiveFrame? = nil) {
        guard let group = groups.removeValue(forKey: shape) else { return }
        for (number, subscriber) in group.subscribers {
            subscriber.outbox.finish(with: last)
            members[number] = nil
        }
    }

    /// The database is another than a moment ago.
    private func startOver() {
        for shape in groups.keys { close(shape, with: .error(HTTPProblem(.cursorExpired))) }
    }
}

/// One change on its way to subscribers; each text is made when the first asks for it.
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
        let isOpenNow = subscriber.readsEverything || (change.mayNow && subscriber.reads(change.readersNow))
        let shows = change.shows(event, readsAfter: after) && isOpenNow
        if let frame = frames[event]?[shows] { return frame }
        let frame = change.frame(event, shows: shows, cursor: cursor)
        frames[event, default: [:]][shows] = frame
        return frame
    }
}
