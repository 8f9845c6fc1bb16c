import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Performs actions of rules in the caller's transaction: messages, mail, webhook deliveries and the log of runs.
struct RuleActionPerformer: Sendable {
    /// The limits for bodies waiting for a rule's webhook, in number and bytes. The same as for a hook of storage.
    static let maximumWaiting = 1_000
    static let maximumWaitingInBytes = 64 << 20
    /// The number of runs kept per rule.
    static let maximumRuns = 200

    let messages: MessageStore
    let orders: MailOrders
    let queue: JobQueue
    let limits = RuleLimits()

    enum Outcome: String, Sendable {
        case acted, nobody, limited, loop, failed, expired
    }

    /// Performs an action. If it fails, its writes are rolled back and the failure is logged as a run; the transaction
    /// continues.
    ///
    /// - Throws: `PostgresError` for errors that are worth a retry.
    func perform(_ action: RuleAction, in space: Space, _ transaction: PostgresTransaction) async throws {
        if let failure = action.failure { return try await logRun(action, .failed, failure, in: space, transaction) }
        guard !action.recipients.isEmpty || action.webhookBody != nil || action.mail != nil else {
            return try await logRun(action, .nobody, nil, in: space, transaction)
        }
        switch try await limits.count(action, in: space, transaction) {
        case .within: break
        case .suspicious(let sentence): try await logRun(action, .loop, sentence, in: space, transaction)
        case .beyond(let outcome, let sentence):
            return try await logRun(action, outcome, sentence, in: space, transaction)
        }
        if action.webhookBody != nil, try await isWebhookFull(action.rule, in: space, transaction) {
            return try await logRun(
                action, .limited, "Too many deliveries are waiting for the webhook.", in: space, transaction)
        }
        try await transaction.execute("SAVEPOINT act")
        do {
            let message = try await send(action, in: space, transaction)
            let delivery = try await enqueueWebhook(action, in: space, transaction)
            let (mails, refusal) = try await order(action, in: space, transaction)
            try await logRun(
                action, refusal == nil ? .acted : .limited, refusal, in: space, transaction,
                results: ActionResults(message: message, delivery: delivery, mails: mails))
            try await transaction.execute("RELEASE SAVEPOINT act")
        } catch {
            guard let sentence = Self.sentence(error) else { throw error }
            try await transaction.execute("ROLLBACK TO SAVEPOINT act")
            try await logRun(action, .failed, sentence, in: space, transaction)
        }
    }

    private static func sentence(_ error: any Error) -> String? {
        // PostgreSQL would refuse the same data again: data exceptions, violated constraints, exceeded limits.
        if let error = error as? PostgresError, let state = error.sqlState,
            ["22", "23", "54"].contains(state.prefix(2))
        {
            return "The database refused the action (\(state))."
        }
        return RuleActionBuilder.sentence(error)
    }

    // MARK: Messages and webhooks

    /// Sends the messages of an action and returns the id of the first.
    private func send(_ action: RuleAction, in space: Space, _ transaction: PostgresTransaction) async throws -> UUID? {
        guard let content = action.content else { return nil }
        var first: UUID?
        for (number, audience) in try action.recipients.audiences().enumerated() {
            let order = MessageOrder(
                content: content, audience: audience,
                expires: messages.now().addingTimeInterval(Double(action.rule.lifetimeInSeconds)),
                origin: "rule:\(action.rule.name):\(action.cause):\(number)", template: action.rule.templateName,
                author: Author(text: "rule:\(action.rule.name)"))
            let message = try await messages.create(order, in: space, transaction)
            first = first ?? message.id
        }
        return first
    }

    private func enqueueWebhook(_ action: RuleAction, in space: Space, _ transaction: PostgresTransaction) async throws
        -> UUID?
    {
        guard let body = action.webhookBody else { return nil }
        guard let id = UUID(uuidString: UUIDv7.make()) else { throw ServiceError(.internalError) }
        try await transaction.execute(
            "INSERT INTO notifications.rule_deliveries (id, space, rule, body) VALUES (\(id), \(space.id), \(action.rule.name), \(body))"
        )
        try await queue.enqueue(
            DeliverWebhook.self, .init(delivery: id), JobOptions(uniqueKey: id.uuidString), in: transaction)
        return id
    }

    private func isWebhookFull(_ rule: Rule, in space: Space, _ transaction: PostgresTransaction) async throws -> Bool {
        try await transaction.query(
            """
            SELECT count(*) >= \(Self.maximumWaiting) OR coalesce(sum(octet_length(body)), 0) > \(Self.maximumWaitingInBytes)
            FROM notifications.rule_deliveries WHERE space = \(space.id) AND rule = \(rule.name) AND state = 'waiting'
            """)[0].decode(0)
    }

    // MARK: Runs

    /// The results of an action.
    struct ActionResults: Sendable {
        var message: UUID?
        var delivery: UUID?
        var mails: [UUID] = []
    }

    private func logRun(
        _ action: RuleAction, _ outcome: Outcome, _ detail: String?, in space: Space,
        _ transaction: PostgresTransaction,
        results: ActionResults = ActionResults()
    ) async throws {
        let users = max(action.recipients.users.count, action.mail?.users.count ?? 0)
        try await logRun(
            action.rule.name, outcome, cause: action.cause, object: action.object, detail, users: users, in: space,
            transaction,
            results: results)
    }

    /// Adds a run to the rule's log and keeps the last `maximumRuns`. Actions over a limit are logged at most once a
    /// minute, those in a loop once a minute per object, and a gap in the change log once.
    func logRun(
        _ rule: String, _ outcome: Outcome, cause: String, object: String?, _ detail: String?, users: Int? = nil,
        in space: Space,
        _ transaction: PostgresTransaction, results: ActionResults = ActionResults()
    ) async throws {
        let isRepeatable =
            results.message == nil && results.delivery == nil && [.limited, .loop, .expired].contains(outcome)
        try await transaction.execute(
            """
            INSERT INTO notifications.rule_runs (space, rule, cause, object, outcome, detail, users, message, delivery, mail, mails)
            SELECT \(space.id), \(rule), \(cause), \(object), \(outcome.rawValue), \(detail.map { String($0.prefix(500)) }), \(users.map(Int32.init)),
                \(results.message), \(results.delivery), \(results.mails.first), \(results.mails.isEmpty ? nil : Int32(results.mails.count))
            WHERE EXISTS (SELECT FROM notifications.rules WHERE space = \(space.id) AND name = \(rule)) AND NOT (\(isRepeatable) AND EXISTS (
                SELECT FROM notifications.rule_runs WHERE space = \(space.id) AND rule = \(rule) AND outcome = \(outcome.rawValue)
                    AND CASE outcome WHEN 'expired' THEN cause = \(cause)
                        WHEN 'loop' THEN object IS NOT DISTINCT FROM \(object) AND at > now() - interval '1 minute'
                        ELSE detail IS NOT DISTINCT FROM \(detail) AND at > now() - interval '1 minute' END))
            """)
        try await transaction.execute(
            """
            DELETE FROM notifications.rule_runs WHERE space = \(space.id) AND rule = \(rule) AND id <= (
                SELECT id FROM notifications.rule_runs WHERE space = \(space.id) AND rule = \(rule) ORDER BY id DESC OFFSET \(Self.maximumRuns) LIMIT 1)
            """)
    }
}

extension ActionRecipients {
    /// The audiences for messages. They do not overlap, except that a user may be reached by several devices in
    /// channels.
    ///
    /// - Throws: `invalid-body`.
    func audiences() throws -> [Audience] {
        if let audience { return [try Audience(audience)] }
        var audiences = stride(from: 0, to: users.count, by: Audience.maximumUsers).map { start in
            Audience.users(Array(users[start..<min(start + Audience.maximumUsers, users.count)]))
        }
        if !channels.isEmpty {
            var inChannels = Audience(channels: channels)
            inChannels.exceptUsers = exceptUsers + users
            audiences.append(inChannels)
        }
        if !installations.isEmpty { audiences.append(.installations(installations)) }
        return audiences
    }
}

extension Rule {
    var templateName: String? { if case .template(let name) = content { name } else { nil } }
}
