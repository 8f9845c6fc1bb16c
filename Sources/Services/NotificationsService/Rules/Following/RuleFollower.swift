import Foundation
import Logging
import MartletCore
import MartletPostgres

/// Applies rules to the changes of one space while this instance holds the lease.
struct RuleFollower: Sendable {
    /// How long storage holds a request for changes. The longest that storage allows, to keep requests rare.
    private static let waitSeconds = 25
    /// How long a cursor may stay behind while no rule acts. Storage keeps its log for days.
    private static let idleLimit: Duration = .seconds(600)

    let space: Space
    let store: RuleStore
    let feeds: RuleFeeds
    let storage: StorageClient
    let actionBuilder: RuleActionBuilder
    let performer: RuleActionPerformer
    let changeSignal: RuleChangeSignal
    let stuck: StuckRules
    let logger: Logger

    /// Runs until the lease is lost, there is nothing to follow, or the task is cancelled.
    func follow() async {
        var tracker = FailureTracker()
        var state: State?
        // Another instance may have stored a failure.
        var mayHaveStoredFailure = true
        while !Task.isCancelled {
            do {
                let outcome = try await step(&state)
                guard outcome != .end else { break }
                // An interrupted step proves nothing, so the failure count stays.
                guard outcome == .done else { continue }
                tracker.reset()
                if mayHaveStoredFailure {
                    try await feeds.record(stuck: nil, space)
                    stuck.set(space, false)
                    mayHaveStoredFailure = false
                }
            } catch {
                guard !Task.isCancelled else { break }
                state = nil
                if tracker.recordFailure() {
                    logger.warning(
                        "Could not apply notification rules to changes; retrying.",
                        metadata: ["app.id": "\(space.appID)", "error.cause": "\(error)"])
                }
                if tracker.shouldStoreFailure {
                    mayHaveStoredFailure = true
                    stuck.set(space, true)
                    try? await feeds.record(stuck: FailureTracker.sentence(error), space)
                }
                try? await Task.sleep(for: tracker.pause)
            }
        }
        stuck.set(space, false)
        let isCancelled = Task.isCancelled
        // An unstructured task, because this one may be cancelled.
        try? await Task { try await feeds.release(space, notifyingOthers: isCancelled) }.value
    }

    /// The state between two steps.
    struct State: Sendable {
        var position: RuleFeeds.Position
        var rules: [RuleStore.Active]
        /// May be ahead of `position`, if the changes in between matched no rule.
        var cursor: String
        var written: ContinuousClock.Instant
    }

    private enum Outcome {
        case done
        /// The rules changed during the wait.
        case interrupted
        /// There is nothing to follow any more.
        case end
    }

    /// Waits for changes and processes them.
    private func step(_ state: inout State?) async throws -> Outcome {
        let known = changeSignal.number(of: space.id)
        guard let position = try await feeds.position(in: space) else { return .end }
        var current: State
        if let state, state.position == position {
            current = state
        } else {
            let rules = try await store.active(in: space).filter(\.rule.trigger.isOnChanges)
            current = State(position: position, rules: rules, cursor: position.cursor, written: .now)
        }
        let collections = Array(Set(current.rules.compactMap(\.rule.trigger.collection))).sorted()
        guard !collections.isEmpty else { return .end }
        let start = ContinuousClock.now
        guard let page = try await page(of: collections, after: current.cursor, unlessChangedSince: known) else {
            return .interrupted
        }
        if page.isExpired {
            _ = try await recordExpiredLog(current, page.cursor)
            state = nil
        } else if page.changes.isEmpty, page.lost.isEmpty, current.written + Self.idleLimit > .now {
            current.cursor = page.cursor
            state = current
            // When too many requests wait, storage answers at once; pause to avoid a busy loop.
            if ContinuousClock.now - start < .milliseconds(200), !page.hasMore {
                try await Task.sleep(for: .seconds(1))
            }
        } else {
            let actions = try await self.actions(on: page.changes, current.rules)
            let rules = current.rules
            let isDone = try await feeds.advance(space, from: position, to: page.cursor) { transaction in
                for lost in page.lost { try await recordGap(lost, rules, transaction) }
                for action in actions { try await performer.perform(action, in: space, transaction) }
            }
            current.position.cursor = page.cursor
            current.cursor = page.cursor
            current.written = .now
            state = isDone ? current : nil
        }
        return .done
    }

    /// Nil if the rules changed during the wait.
    private func page(of collections: [String], after cursor: String, unlessChangedSince known: Int) async throws
        -> StorageClient.Page?
    {
        try await withThrowingTaskGroup(of: StorageClient.Page?.self) { group in
            group.addTask {
                try await storage.page(of: collections, after: cursor, waiting: Self.waitSeconds, in: space)
            }
            group.addTask {
                await changeSignal.wait(.seconds(60), of: space.id, known: known)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// The actions of rules on changes, in the order of the log.
    func actions(on changes: [JSONValue], _ rules: [RuleStore.Active]) async throws -> [RuleAction] {
        let lookUp = RecipientLookUp(storage: storage, space: space)
        var actions: [RuleAction] = []
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
                let action = try await actionBuilder.action(
                    active.rule, on: facts, cause: "change:\(number)/\(at)", at: time, object: "\(collection)/\(id)",
                    lookUp, in: space)
                if let action { actions.append(action) }
            }
        }
        return actions
    }

    /// Continues at the end of the log, and records that in every rule.
    private func recordExpiredLog(_ state: State, _ cursor: String) async throws -> Bool {
        logger.warning("The change log was replaced; continuing from its end.", metadata: ["app.id": "\(space.appID)"])
        return try await feeds.advance(space, from: state.position, to: cursor) { transaction in
            for active in state.rules {
                try await performer.logRun(
                    active.rule.name, .expired, cause: "log", object: nil,
                    "Storage was restored. Earlier changes are skipped; the rule continues with new ones.", in: space,
                    transaction)
            }
        }
    }

    /// Records once, in the rules of a collection, that a part of its log is missing.
    private func recordGap(
        _ lost: StorageClient.LogGap, _ rules: [RuleStore.Active], _ transaction: PostgresTransaction
    ) async throws {
        for active in rules where active.rule.trigger.collection == lost.collection {
            try await performer.logRun(
                active.rule.name, .expired, cause: "log:\(lost.collection)/\(lost.transaction)", object: nil,
                "Some changes were deleted before the rule could act on them, or the collection was dropped. The rule continues with the remaining changes.",
                in: space,
                transaction)
        }
    }
}
