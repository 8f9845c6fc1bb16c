import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// The hooks of spaces, cached in memory like rules and invalidated by the same notification.
final class HookStore: Sendable {
    private let postgres: PostgresClient
    private let spaces: Spaces
    private let rights: RightsStore
    private let memory = Mutex<[AppSchema: CachedHooks]>([:])

    private struct CachedHooks {
        var hooks: [Hook]
        /// The revision of the rights, which increases with every notification.
        var revision: Int
        var until: ContinuousClock.Instant
    }

    init(postgres: PostgresClient, spaces: Spaces, rights: RightsStore) {
        self.postgres = postgres
        self.spaces = spaces
        self.rights = rights
    }

    // MARK: Use

    /// The enabled hooks, by name. Does not query the database if they are cached.
    func enabled(in space: AppSchema) async throws -> [Hook] {
        let revision = rights.revision
        let now = ContinuousClock.now
        if let known = memory.withLock({ $0[space] }), known.revision == revision, known.until > now {
            return known.hooks
        }
        let hooks = try await list(of: space).filter(\.isEnabled)
        memory.withLock { $0[space] = CachedHooks(hooks: hooks, revision: revision, until: now + RightsStore.validity) }
        return hooks
    }

    /// The function of this name. Before the call is refused, the hooks are read again, because another copy may just
    /// have added the function or opened it to the caller.
    ///
    /// - Throws: `hook-not-found`, `forbidden`.
    func function(_ name: HookName, openTo identity: Identity, in space: AppSchema) async throws -> Hook {
        func isIt(_ hook: Hook) -> Bool { hook.isEnabled && hook.event == .function && hook.name == name.text }
        var hook = try await enabled(in: space).first(where: isIt)
        if hook?.isOpen(to: identity) != true, rights.mayConfirm(in: space) {
            let stored = try await list(of: space).first(where: isIt)
            if stored?.updated != hook?.updated { rights.forget(space) }
            hook = stored
        }
        guard let hook else { throw ServiceError(.hookNotFound) }
        guard hook.isOpen(to: identity) else {
            throw ServiceError(.forbidden, "This function is not open to the caller.")
        }
        return hook
    }

    // MARK: Management

    func list(of space: AppSchema) async throws -> [Hook] {
        try await run("SELECT \(Hook.columns) FROM \(try space.own("_hooks")) AS h ORDER BY name", in: space).map(
            Hook.init)
    }

    /// - Throws: `hook-not-found`.
    func find(_ name: HookName, of space: AppSchema) async throws -> Hook {
        let rows = try await run(
            "SELECT \(Hook.columns) FROM \(try space.own("_hooks")) AS h WHERE name = \(name.text)", in: space)
        guard let row = rows.first else { throw ServiceError(.hookNotFound) }
        return try Hook(row)
    }

    /// Creates or changes the hook. If it was disabled, or its event or collection changes, it is only notified of
    /// changes made from now on.
    ///
    /// - Throws: `limit-exceeded` beyond `Hook.maximumPerSpace`; `conflict` for a second `scanFile` hook.
    func set(_ body: HookBody, _ name: HookName, of space: AppSchema) async throws -> (hook: Hook, isNew: Bool) {
        let table = try space.own("_hooks")
        try await spaces.prepare(space)
        if body.event.isDelivered {
            try await postgres.execute(
                "INSERT INTO storage.hook_spaces (schema) VALUES (\(space.schema)) ON CONFLICT DO NOTHING")
        }
        let deliveries = try space.own("_hook_deliveries")
        let epoch = try ChangeStore.epoch(of: space)
        let isSame: PostgresQuery =
            "(h.enabled AND h.event = excluded.event AND h.collection IS NOT DISTINCT FROM excluded.collection)"
        let result = try await postgres.withTransaction(role: space.role) { transaction in
            try await transaction.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(\(space.schema + " hooks"), 0))")
            let others = try await transaction.query(
                """
                SELECT count(*), count(*) FILTER (WHERE event = 'scanFile') FROM \(table) WHERE name <> \(name.text)
                """)
            guard try others[0].decode(0, as: Int.self) < Hook.maximumPerSpace else {
                throw ServiceError(
                    .limitExceeded, "An app may have at most \(Hook.maximumPerSpace) hooks.", field: "name")
            }
            guard try body.event != .scanFile || others[0].decode(1, as: Int.self) == 0 else {
                throw ServiceError(.conflict, "An app may have only one hook with the event scanFile.", field: "event")
            }
            let rows = try await transaction.query(
                """
                INSERT INTO \(table) AS h (name, event, collection, url, timeout_milliseconds, enabled, callers, salt, log_epoch, log_from)
                VALUES (\(name.text), \(body.event.rawValue), \(body.collection), \(body.url),
                    \(Int32(body.timeoutMilliseconds ?? Hook.defaultTimeoutInMilliseconds)), \(body.enabled ?? true), \(body.callers ?? []),
                    \(WebhookSecrets.makeSalt()), \(epoch), pg_current_snapshot())
                ON CONFLICT (name) DO UPDATE SET event = excluded.event, collection = excluded.collection, url = excluded.url,
                    timeout_milliseconds = excluded.timeout_milliseconds, enabled = excluded.enabled, callers = excluded.callers, updated = now(),
                    log_epoch = CASE WHEN \(isSame) THEN h.log_epoch ELSE excluded.log_epoch END,
                    log_from = CASE WHEN \(isSame) THEN h.log_from ELSE excluded.log_from END,
                    log_to = CASE WHEN \(isSame) THEN h.log_to END, log_seq = CASE WHEN \(isSame) THEN h.log_seq ELSE 0 END
                RETURNING \(Hook.columns), h.xmax = 0
                """)
            // Deliveries about files have no body, and others have one. If the event changed from one kind to the
            // other, the earlier deliveries are deleted.
            try await transaction.execute(
                """
                DELETE FROM \(deliveries)
                WHERE hook = \(name.text) AND (collection = '_File') <> \(body.event == .scanFile)
                """)
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
            return (try Hook(rows[0]), try rows[0].decode(11, as: Bool.self))
        }
        rights.forget(space)
        return result
    }

    /// Deletes the hook and its outstanding deliveries; returns false if there was none.
    func delete(_ name: HookName, of space: AppSchema) async throws -> Bool {
        let table = try space.own("_hooks")
        try await spaces.prepare(space)
        let deleted = try await postgres.withTransaction(role: space.role) { transaction in
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
            return try await transaction.execute("DELETE FROM \(table) WHERE name = \(name.text)")
        }
        rights.forget(space)
        return deleted > 0
    }

    /// Disables the hook until it is set again. Does nothing and returns false if it was changed in the meantime.
    func disable(_ hook: Hook, in space: AppSchema) async throws -> Bool {
        let rows = try await run(
            """
            WITH disabled AS (
                UPDATE \(try space.own("_hooks")) SET enabled = FALSE, updated = now()
                WHERE name = \(hook.name) AND enabled AND url = \(hook.url) AND event = \(hook.event.rawValue) RETURNING name)
            SELECT pg_notify(\(RightsStore.channel), \(space.schema)) FROM disabled
            """, in: space)
        if !rows.isEmpty { rights.forget(space) }
        return !rows.isEmpty
    }

    /// Gives the hook a new secret; the previous one also signs for `Hook.formerSecretSeconds`.
    ///
    /// - Throws: `hook-not-found`.
    func rotateSecret(of name: HookName, in space: AppSchema) async throws -> Hook {
        let table = try space.own("_hooks")
        try await spaces.prepare(space)
        let hook = try await postgres.withTransaction(role: space.role) { transaction in
            let rows = try await transaction.query(
                """
                UPDATE \(table) AS h SET former_salt = salt, salt = \(WebhookSecrets.makeSalt()), updated = now(),
                    former_until = now() + make_interval(secs => \(Double(Hook.formerSecretSeconds)))
                WHERE name = \(name.text) RETURNING \(Hook.columns)
                """)
            guard let row = rows.first else { throw ServiceError(.hookNotFound) }
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
            return try Hook(row)
        }
        rights.forget(space)
        return hook
    }

    private func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        try await spaces.query(statement, in: space, on: postgres)
    }
}
