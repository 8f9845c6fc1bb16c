import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The rules of all spaces.
struct RuleStore: Sendable {
    /// The channel that notifies followers of changed rules in a space.
    static let channel = "notifications_rules"

    let postgres: PostgresClient
    let secrets: WebhookSecrets
    let now: @Sendable () -> Date

    // MARK: Reading

    /// The rules as JSON objects, by name.
    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            "SELECT \(Self.json) FROM notifications.rules AS r WHERE space = \(space.id) ORDER BY name"
        ).map { try $0.decode(0) }
    }

    /// The rule as a JSON object, and its version; nil if there is none.
    func read(_ name: String, in space: Space) async throws -> (json: String, version: Int64)? {
        let rows = try await postgres.query(
            "SELECT \(Self.json), version FROM notifications.rules AS r WHERE space = \(space.id) AND name = \(name)")
        return try rows.first.map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// An enabled rule, and the time since which it has been active.
    struct Active: Sendable {
        var rule: Rule
        /// In RFC 3339.
        var since: String
    }

    /// The enabled rules by name, without those that this version cannot read.
    func active(in space: Space) async throws -> [Active] {
        try await postgres.query(
            """
            SELECT name, rule, \(PostgresQuery.rfc3339("since")) FROM notifications.rules WHERE space = \(space.id) AND is_enabled ORDER BY name
            """
        ).compactMap { row in
            guard let rule = try? Rule(name: try row.decode(0), try row.json(1)) else { return nil }
            return Active(rule: rule, since: try row.decode(2))
        }
    }

    /// The rule, even if it is disabled; nil if there is none.
    func rule(_ name: String, in space: Space) async throws -> Rule? {
        try await postgres.query("SELECT rule FROM notifications.rules WHERE space = \(space.id) AND name = \(name)")
            .first
            .map { try Rule(name: name, try $0.json(0)) }
    }

    /// The latest runs of a rule as JSON objects with their ids, newest first.
    func runs(of name: String, before: Int64?, limit: Int, in space: Space) async throws -> [(id: Int64, json: String)]
    {
        try await postgres.query(
            """
            SELECT u.id, jsonb_strip_nulls(jsonb_build_object(
                'id', u.id, 'at', \(PostgresQuery.rfc3339("u.at")), 'cause', u.cause, 'object', u.object, 'outcome', u.outcome, 'detail', u.detail,
                'users', u.users, 'message', u.message, 'mail', u.mail, 'mails', u.mails, 'delivery', CASE WHEN d.id IS NOT NULL THEN jsonb_build_object(
                    'id', d.id, 'state', d.state, 'attempts', d.attempts, 'status', d.status, 'error', d.error) END))::text
            FROM notifications.rule_runs AS u LEFT JOIN notifications.rule_deliveries AS d ON d.id = u.delivery
            WHERE u.space = \(space.id) AND u.rule = \(name) AND u.id < \(before ?? .max) ORDER BY u.id DESC LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    // MARK: Changing

    struct Written: Sendable {
        var json: String
        var version: Int64
        var isNew: Bool
        /// The secret of a new webhook; not shown again.
        var secret: Secret?
    }

    /// - Parameter end: The end of storage's change log, read before the write; nil for a rule that does not follow
    ///   changes.
    /// - Throws: `precondition-failed`, `limit-exceeded`.
    func write(
        _ rule: Rule, _ condition: Precondition?, mustBeNew: Bool, end: StorageClient.Page?, by author: Author,
        in space: Space
    ) async throws -> Written {
        try await postgres.withTransaction { transaction in
            try await Self.lock(space, transaction)
            let former = try await transaction.query(
                "SELECT version, is_enabled, rule, salt FROM notifications.rules WHERE space = \(space.id) AND name = \(rule.name) FOR UPDATE"
            ).first
            try Self.check(former, condition, mustBeNew: mustBeNew)
            if former == nil { try await Self.checkRoom(in: space, transaction) }
            let keepsPosition =
                try former.map {
                    try $0.decode(1) && (try? Rule(name: rule.name, try $0.json(2)))?.trigger == rule.trigger
                } ?? false
            let formerSalt = try former?.decode(3, as: [UInt8]?.self)
            let salt = rule.webhookURL == nil ? nil : formerSalt ?? WebhookSecrets.makeSalt()
            let due: Date? =
                if case .schedule(let schedule) = rule.trigger { schedule.next(after: now()) } else { nil }
            let rows = try await transaction.query(
                """
                INSERT INTO notifications.rules AS r (space, name, rule, is_enabled, author, since, due, salt)
                VALUES (\(space.id), \(rule.name), \(PostgresJSON(rule.json.text)), \(rule.isEnabled), \(author.text),
                    coalesce(\(end?.now)::timestamptz, now()), \(due), \(salt))
                ON CONFLICT (space, name) DO UPDATE SET rule = excluded.rule, is_enabled = excluded.is_enabled, author = excluded.author,
                    version = r.version + 1, updated = now(), since = CASE WHEN \(keepsPosition) THEN r.since ELSE excluded.since END,
                    due = CASE WHEN \(keepsPosition) THEN coalesce(r.due, excluded.due) ELSE excluded.due END, salt = excluded.salt,
                    stuck_since = NULL, stuck_reason = NULL, retry = NULL
                RETURNING \(Self.json), version
                """)
            try await Self.updateFeed(of: space, from: rule.trigger.isOnChanges ? end?.cursor : nil, transaction)
            let isNewSecret = formerSalt == nil
            return Written(
                json: try rows[0].decode(0), version: try rows[0].decode(1), isNew: former == nil,
                secret: isNewSecret ? salt.map { secret($0, of: rule.name, in: space.id).text } : nil)
        }
    }

    private static func check(_ former: PostgresRow?, _ condition: Precondition?, mustBeNew: Bool) throws {
        if mustBeNew, former != nil { throw ServiceError(.preconditionFailed, "A rule with this name already exists.") }
        guard let condition else { return }
        guard let former else { throw ServiceError(.preconditionFailed, "There is no rule with this name.") }
        let version = String(try former.decode(0, as: Int64.self))
        guard condition.tags?.contains(version) ?? true else {
            throw ServiceError(.preconditionFailed, "The rule now has version \(version).")
        }
    }

    private static func checkRoom(in space: Space, _ transaction: PostgresTransaction) async throws {
        let count = try await transaction.query("SELECT count(*) FROM notifications.rules WHERE space = \(space.id)")[0]
            .decode(0, as: Int.self)
        guard count < Rule.maximumPerSpace else {
            throw ServiceError(.limitExceeded, "An app may have at most \(Rule.maximumPerSpace) rules.")
        }
    }

    /// - Throws: `rule-not-found`, `precondition-failed`.
    func delete(_ name: String, _ condition: Precondition?, in space: Space) async throws {
        try await postgres.withTransaction { transaction in
            try await Self.lock(space, transaction)
            let former = try await transaction.query(
                "SELECT version FROM notifications.rules WHERE space = \(space.id) AND name = \(name) FOR UPDATE"
            ).first
            guard former != nil else { throw ServiceError(.ruleNotFound) }
            try Self.check(former, condition, mustBeNew: false)
            try await transaction.execute(
                "DELETE FROM notifications.rules WHERE space = \(space.id) AND name = \(name)")
            try await Self.updateFeed(of: space, from: nil, transaction)
        }
    }

    private static func lock(_ space: Space, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(\("martlet.notifications.rules \(space.id)"), 0))")
        // Same lock order as followers: the feed first, then the rules.
        try await transaction.execute("SELECT FROM notifications.rule_feeds WHERE space = \(space.id) FOR UPDATE")
    }

    /// Activates the space's feed while enabled rules need it. A feed that was inactive starts at `cursor`.
    private static func updateFeed(of space: Space, from cursor: String?, _ transaction: PostgresTransaction)
        async throws
    {
        if let cursor {
            try await transaction.execute(
                "INSERT INTO notifications.rule_feeds (space, cursor, is_active) VALUES (\(space.id), \(cursor), FALSE) ON CONFLICT DO NOTHING"
            )
        }
        try await transaction.execute(
            """
            UPDATE notifications.rule_feeds AS f SET generation = generation + 1, is_active = wanted,
                cursor = CASE WHEN wanted AND NOT is_active THEN coalesce(\(cursor), cursor) ELSE cursor END
            FROM (SELECT EXISTS (
                SELECT FROM notifications.rules WHERE space = \(space.id) AND is_enabled AND rule -> 'when' ? 'collection') AS wanted) AS now
            WHERE f.space = \(space.id)
            """)
        try await transaction.execute("SELECT pg_notify(\(channel), \(String(space.id)))")
    }

    // MARK: Secrets

    /// Creates a new secret. For one more day, webhooks are signed with the previous one as well.
    ///
    /// - Throws: `rule-not-found`, `conflict` for a rule without a webhook.
    func rotateSecret(of name: String, in space: Space) async throws -> Secret {
        guard let rule = try await rule(name, in: space) else { throw ServiceError(.ruleNotFound) }
        guard rule.webhookURL != nil else { throw ServiceError(.conflict, "The rule has no webhook.") }
        let salt = WebhookSecrets.makeSalt()
        try await postgres.execute(
            """
            UPDATE notifications.rules SET former_salt = salt, salt = \(salt), former_until = now() + interval '1 day'
            WHERE space = \(space.id) AND name = \(name)
            """)
        return secret(salt, of: name, in: space.id).text
    }

    func secret(_ salt: [UInt8], of name: String, in space: Int32) -> WebhookSecret {
        secrets.secret(salt: salt, purpose: "martlet notification rule \(space) \(name)")
    }

    /// The JSON of the row `r`, without its secret. `problem` is the latest failed run of the last week. `state` is
    /// `active`, `disabled` or `stuck`; the last has `since` and `reason` and means that processing fails and is being
    /// retried.
    private static let json: PostgresQuery = """
        (r.rule || jsonb_strip_nulls(jsonb_build_object(
            'name', r.name, 'enabled', r.is_enabled, 'version', r.version, 'author', r.author, 'created', \(PostgresQuery.rfc3339("r.created")),
            'updated', \(PostgresQuery.rfc3339("r.updated")), 'next', CASE WHEN r.is_enabled THEN \(PostgresQuery.rfc3339("r.due")) END, 'acted', r.acted,
            'lastActed', \(PostgresQuery.rfc3339("r.last_acted")), 'problem', (
                SELECT jsonb_build_object('at', \(PostgresQuery.rfc3339("p.at")), 'outcome', p.outcome, 'detail', p.detail)
                FROM notifications.rule_runs AS p WHERE p.space = r.space AND p.rule = r.name AND p.outcome NOT IN ('acted', 'nobody')
                    AND p.at > now() - interval '7 days'
                ORDER BY p.id DESC LIMIT 1)))
        || (SELECT jsonb_strip_nulls(jsonb_build_object(
                'state', CASE WHEN NOT r.is_enabled THEN 'disabled' WHEN s.since IS NOT NULL THEN 'stuck' ELSE 'active' END,
                'since', \(PostgresQuery.rfc3339("s.since")), 'reason', s.reason))
            FROM (
                SELECT CASE WHEN r.is_enabled THEN coalesce(r.stuck_since, f.stuck_since) END AS since,
                    CASE WHEN r.is_enabled THEN coalesce(r.stuck_reason, f.stuck_reason) END AS reason
                FROM (SELECT) AS one LEFT JOIN notifications.rule_feeds AS f ON f.space = r.space AND r.rule -> 'when' ? 'collection') AS s))::text
        """
}
