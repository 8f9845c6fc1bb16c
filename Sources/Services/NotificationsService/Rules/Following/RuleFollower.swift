import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletPostgres

/// Acts on the changes of one space for as long as this copy of the service has the lease.
struct RuleFollower: Sendable {
    /// A call that waits: who is idle asks as rarely as storage lets it.
    private static let waitSeconds = 25
    /// How long a cursor may be behind when nothing happens: what storage forgets takes days.
    private static let idleLimit: Duration = .seconds(600)

    let space: Space
    let store: RuleStore
    let feeds: RuleFeeds
    let stored: StoredChanges
    let acts: RuleActionBuilder
    let work: RuleWork
    let news: RuleChangeSignal
    let stuck: StuckRules
    let logger: Logger

    /// Until the lease is lost, nothing is left to follow, or the task is cancelled.
    func follow() async {
        var trouble = RuleTrouble()
        var state: State?
        // Another copy may have left a note.
        var isNoted = true
        while !Task.isCancelled {
            do {
                let outcome = try await step(&state)
                guard outcome != .end else { break }
                // Who was interrupted has not found out whether it goes.
                guard outcome == .done else { continue }
                trouble.isOver()
                if isNoted {
                    try await feeds.note(stuck: nil, space)
                    stuck.set(space, false)
                    isNoted = false
                }
            } catch {
                guard !Task.isCancelled else { break }
                state = nil
                if trouble.happened() {
                    logger.warning(
                        "changes were not acted on; tried again until it goes",
                        metadata: ["app.id": "\(space.appID)", "error.cause": "\(error)"])
                }
                if trouble.isToBeNoted {
                    isNoted = true
                    stuck.set(space, true)
                    try? await feeds.note(stuck: RuleTrouble.sentence(error), space)
                }
                try? await Task.sleep(for: trouble.pause)
            }
        }
        stuck.set(space, false)
        let isEnd = Task.isCancelled
        // In a task of its own: this one may be cancelled.
        try? await Task { try await feeds.release(space, tellingOthers: isEnd) }.value
    }

    /// What is known between two steps.
    struct State: Sendable {
        var place: RuleFeeds.Place
        var rules: [RuleStore.Active]
        /// Further on than the place, with nothing for any rule in between.
        var cursor: String
        var written: ContinuousClock.Instant
    }

    private enum Outcome {
        case done
        /// The rules have changed while it waited.
        case interrupted
        /// There is nothing to follow any more.
        case end
    }

    /// Waits for changes and acts on them.
    private func step(_ state: inout State?) async throws -> Outcome {
        let known = news.number(of: space.id)
        guard let place = try await feeds.place(space) else { return .end }
        var current: State
        if let state, state.place == place {
            current = state
        } else {
            let rules = try await store.active(in: space).filter(\.rule.trigger.isOnChanges)
            current = State(place: place, rules: rules, cursor: place.cursor, written: .now)
        }
        let collections = Array(Set(current.rules.compactMap(\.rule.trigger.collection))).sorted()
        guard !collections.isEmpty else { return .end }
        let start = ContinuousClock.now
        guard let page = try await page(of: collections, after: current.cursor, unlessNewsAfter: known) else {
            return .interrupted
        }
        if page.isExpired {
            _ = try await tellExpired(current, page.cursor)
            state = nil
        } else if page.changes.isEmpty, page.lost.isEmpty, current.written + Self.idleLimit > .now {
            current.cursor = page.cursor
            state = current
            // Storage lets only so many wait and answers others at once.
            if ContinuousClock.now - start < .milliseconds(200), !page.hasMore {
                try await Task.sleep(for: .seconds(1))
            }
        } else {
            let wanted = try await acts(on: page.changes, current.rules)
            let rules = current.rules
            let isDone = try await feeds.advance(space, from: place, to: page.cursor) { transaction in
                for lost in page.lost { try await tell(lost, rules, transaction) }
                for act in wanted { try await work.perform(act, in: space, transaction) }
            }
            current.place.cursor = page.cursor
            current.cursor = page.cursor
            current.written = .now
            state = isDone ? current : nil
        }
        return .done
    }

    /// Nil: the rules have changed while it waited.
    private func page(of collections: [String], after cursor: String, unlessNewsAfter known: Int) async throws
        -> StoredChanges.Page?
    {
        try await withThrowingTaskGroup(of: StoredChanges.Page?.self) { group in
            group.addTask {
                try await stored.page(of: collections, after: cursor, waiting: Self.waitSeconds, in: space)
            }
            group.addTask {
                await news.wait(.seconds(60), of: space.id, known: known)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// What rules make of changes, in the order of the log.
    func acts(on changes: [JSONValue], _ rules: [RuleStore.Active]) async throws -> [RuleAct] {
        let lookUp = RecipientLookUp(stored: stored, space: space)
        var wanted: [RuleAct] = []
        for change in changes {
            guard case .string(let collection) = change["collection"], case .string(let id) = change["id"],
                case .number(let number) = change["seq"],
                case .string(let at) = change["at"], let time = Date(rfc3339: at),
                case .string(let kind) = change["change"], let event = RuleTrigger.Event(rawValue: kind)
            else { continue }
            let facts = Facts(change: change)
            for active in rules where active.since <= at {
                guard case .change(collection, let events) = active.rule.trigger, events.contains(event) else {
                    continue
                }
                let act = try await acts.act(
                    active.rule, on: facts, cause: "change:\(number)/\(at)", at: time, object: "\(collection)/\(id)",
                    lookUp, in: space)
                if let act { wanted.append(act) }
            }
        }
        return wanted
    }

    /// Goes on at the log's end, and says so in every rule.
    private func tellExpired(_ state: State, _ cursor: String) async throws -> Bool {
        logger.warning(
            "the log of changes is another one; it is followed from its end on", metadata: ["app.id": "\(space.appID)"])
        return try await feeds.advance(space, from: state.place, to: cursor) { transaction in
            for active in state.rules {
                try await work.note(
                    active.rule.name, .expired, cause: "log", object: nil,
                    "Storage was restored, and what was written before cannot be told: it goes on with what comes now.",
                    in: space, transaction)
            }
        }
    }

    /// Says in the rules of a collection that something of its log is gone, once.
    private func tell(_ lost: StoredChanges.Lost, _ rules: [RuleStore.Active], _ transaction: PostgresTransaction)
        async throws
    {
        for active in rules where active.rule.trigger.collection == lost.collection {
            try await work.note(
                active.rule.name, .expired, cause: "log:\(lost.collection)/\(lost.transaction)", object: nil,
                "Changes were no longer kept when they were to be acted on, or the collection was dropped: it goes on with what is left.",
                in: space,
                transaction)
        }
    }
}
