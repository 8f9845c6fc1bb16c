import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Sends the webhooks of rules to apps' own servers, following Standard Webhooks.
struct RuleWebhooks: Sendable {
    static let retentionInDays = 30

    let postgres: PostgresClient
    let store: RuleStore
    let sender: WebhookSender

    struct Attempt: Sendable {
        var body: String
        /// The number of attempts, including this one.
        var number: Int
        var url: String
        var secrets: [WebhookSecret]
    }

    /// Begins an attempt; nil if there is nothing left to deliver.
    func begin(_ id: UUID) async throws -> Attempt? {
        let rows = try await postgres.query(
            """
            UPDATE notifications.rule_deliveries AS d SET attempts = attempts + 1 FROM notifications.rules AS r
            WHERE d.id = \(id) AND d.state = 'waiting' AND r.space = d.space AND r.name = d.rule AND r.salt IS NOT NULL
            RETURNING d.body, d.attempts, r.rule -> 'webhook' ->> 'url', r.salt, CASE WHEN r.former_until > now() THEN r.former_salt END, r.name, r.space
            """)
        guard let row = rows.first, let body = try row.decode(0, as: String?.self),
            let url = try row.decode(2, as: String?.self)
        else { return nil }
        let (name, space): (String, Int32) = (try row.decode(5), try row.decode(6))
        let salts = [try row.decode(3, as: [UInt8]?.self), try row.decode(4, as: [UInt8]?.self)].compactMap(\.self)
        return Attempt(
            body: body, number: try row.decode(1), url: url,
            secrets: salts.map { store.secret($0, of: name, in: space) })
    }

    /// - Throws: `CancellationError`.
    func send(_ attempt: Attempt, id: UUID) async throws -> WebhookOutcome {
        try await sender.send(
            ByteBuffer(string: attempt.body), id: id.uuidString.lowercased(), to: attempt.url, signedBy: attempt.secrets
        )
    }

    enum State: String {
        case waiting, done, dead
    }

    /// Stores the result of an attempt. The body is deleted once the delivery has ended.
    func record(_ outcome: WebhookOutcome, of id: UUID, _ state: State) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.rule_deliveries SET state = \(state.rawValue), status = \(outcome.status.map(Int32.init)), error = \(outcome.failure),
                finished = CASE WHEN \(state != .waiting) THEN now() END, body = CASE WHEN \(state == .waiting) THEN body END
            WHERE id = \(id) AND state = 'waiting'
            """)
    }

    /// Deletes old deliveries.
    func prune() async throws {
        try await postgres.execute(
            "DELETE FROM notifications.rule_deliveries WHERE created < now() - make_interval(days => \(Int32(Self.retentionInDays)))"
        )
    }
}
