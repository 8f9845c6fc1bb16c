import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres

/// Turns each change in the log, and each file to be scanned, into one delivery, and claims deliveries for one copy of
/// the service at a time.
struct DeliveryStore: Sendable {
    /// The maximum number of waiting deliveries per hook; further changes stay in the change log.
    static let maximumWaiting = 1_000
    static let maximumWaitingInBytes = 64 << 20
    static let maximumTaken = 100
    static let maximumTakenInBytes = 4 << 20
    /// The maximum number of finished deliveries, done or dead, that are kept per hook.
    static let maximumFinished = 1_000
    static let finishedDays = 7
    /// How long a delivery remains claimed by a copy that died.
    static let leaseSeconds = 60.0

    let postgres: PostgresClient
    let spaces: Spaces

    // MARK: Management

    /// Newest first.
    func list(of hook: HookName, _ state: DeliveryRecord.State?, limit: Int, in space: AppSchema) async throws
        -> [DeliveryRecord]
    {
        let condition: PostgresQuery = state.map { "AND state = \($0.rawValue)" } ?? ""
        return try await run(
            """
            SELECT \(DeliveryRecord.columns) FROM \(try space.own("_hook_deliveries")) AS d
            WHERE hook = \(hook.text) \(condition) ORDER BY created DESC, id LIMIT \(limit)
            """, in: space
        ).map(DeliveryRecord.init)
    }

    /// Makes a delivery due at once. A dead one gets all its attempts again; a completed one does not change. Nil if
    /// the hook has no delivery with this id.
    func retry(_ id: UUID, of hook: HookName, in space: AppSchema) async throws -> DeliveryRecord? {
        try await run(
            """
            UPDATE \(try space.own("_hook_deliveries")) AS d SET
                attempts = CASE state WHEN 'dead' THEN 0 ELSE attempts END, finished = CASE state WHEN 'done' THEN finished END,
                due = now(), state = CASE state WHEN 'dead' THEN 'waiting' ELSE state END
            WHERE id = \(id) AND hook = \(hook.text) RETURNING \(DeliveryRecord.columns)
            """, in: space
        ).first.map(DeliveryRecord.init)
    }

    // MARK: Reading the log

    /// Whether there are changes to take or deliveries to make. A single statement, because it runs after every write
    /// and at intervals.
    func hasWork(for hook: String, in space: AppSchema) async throws -> Bool {
        let rows = try await run(
            """
            SELECT EXISTS (SELECT FROM \(try space.own("_hook_deliveries")) WHERE hook = h.name AND state = 'waiting' AND due <= now())
                OR h.log_to IS NOT NULL OR h.log_epoch <> \(try ChangeStore.epoch(of: space))
                OR EXISTS (
                    SELECT FROM \(try space.own("_changes")) AS c WHERE c.collection = h.collection AND c.txid >= pg_snapshot_xmin(h.log_from)
                        AND NOT pg_visible_in_snapshot(c.txid, h.log_from))
                OR h.event = 'scanFile' AND EXISTS (\(try filesToTake(for: hook, in: space)))
            FROM \(try space.own("_hooks")) AS h WHERE name = \(hook) AND enabled
            """, in: space)
        return try rows.first?.decode(0) ?? false
    }

    /// Takes the hook's next changes from the log. Returns whether there may be more.
    ///
    /// The hook's row is locked, and the new position in the log is written together with the deliveries, so each
    /// change becomes exactly one delivery even if several copies try or one dies. If the log was replaced (by a
    /// restore), the hook continues from the end of the new one.
    func take(for hook: String, in space: AppSchema) async throws -> Bool {
        let (hooks, queue) = (try space.own("_hooks"), try space.own("_hook_deliveries"))
        let epoch = try ChangeStore.epoch(of: space)
        return try await postgres.withTransaction(role: space.role) { transaction in
            let locked = try await transaction.query(
                """
                SELECT event, collection, log_epoch, log_from::text, log_to::text, log_seq FROM \(hooks)
                WHERE name = \(hook) AND enabled AND event IN ('afterSave', 'afterDelete') FOR UPDATE SKIP LOCKED
                """)
            guard let row = locked.first else { return false }
            // The snapshot is taken after locking, because an earlier one might be older than the position that another
            // copy has just reached. It need not be `durable`: the commit of this transaction also flushes the log
            // records of every transaction that the snapshot sees as ended.
            let now = try await transaction.query(
                """
                SELECT pg_current_snapshot()::text, \(epoch),
                    count(*) < \(Self.maximumWaiting) AND coalesce(sum(size), 0) < \(Self.maximumWaitingInBytes)
                FROM \(queue) WHERE hook = \(hook) AND state = 'waiting'
                """)[0]
            guard try now.decode(2, as: Bool.self), let current = Snapshot(try now.decode(0, as: String.self)) else {
                return false
            }
            let currentEpoch: String = try now.decode(1)
            guard try row.decode(2) == currentEpoch else {
                try await transaction.execute(
                    """
                    UPDATE \(hooks) SET log_epoch = \(currentEpoch), log_from = \(current.text)::pg_snapshot, log_to = NULL, log_seq = 0
                    WHERE name = \(hook)
                    """)
                return false
            }
            guard let from = Snapshot(try row.decode(3, as: String.self)) else { throw ServiceError(.internalError) }
            let to = try row.decode(4, as: String?.self).flatMap { Snapshot($0) } ?? current
            let event =
                try row.decode(0, as: String.self) == Hook.Event.afterSave.rawValue
                ? Hook.Event.afterSave : .afterDelete
            let taken = try await transaction.query(
                try Self.taking(event, hook, try row.decode(1), from, to, after: try row.decode(5), in: space))[0]
            let hasMore = try taken.decode(0, as: Bool.self)
            let last = try taken.decode(1, as: Int64?.self)
            let (newFrom, newTo, seq) = hasMore ? (from, to.text, last ?? 0) : (to, nil, 0)
            // An unchanged position is not written again, because each such write would count as a new change in the
            // next pass.
            guard try hasMore || row.decode(4, as: String?.self) != nil || taken.decode(2, as: Bool.self) else {
                return false
            }
            try await transaction.execute(
                """
                UPDATE \(hooks) SET log_from = \(newFrom.text)::pg_snapshot, log_to = \(newTo)::pg_snapshot, log_seq = \(seq) WHERE name = \(hook)
                """)
            return hasMore
        }
    }

    /// Selects whether there are more changes in the range, the last number taken, and whether the range has any
    /// changes at all.
    private static func taking(
        _ event: Hook.Event, _ hook: String, _ collection: String, _ from: Snapshot, _ to: Snapshot, after seq: Int64,
        in space: AppSchema
    ) throws -> PostgresQuery {
        let kinds = event == .afterSave ? ["c", "u"] : ["d"]
        let head = HookMessage.headOfAfterMessage(event, hook: hook, collection: collection)
        return """
            WITH found AS (
                SELECT * FROM \(try space.own("_changes"))
                WHERE \(ChangeStore.between(from, to, collection)) AND seq > \(seq) AND kind::text = ANY (\(kinds))
                ORDER BY seq LIMIT \(maximumTaken + 1)),
            sized AS (
                SELECT *, row_number() OVER (ORDER BY seq) AS place,
                    sum(coalesce(pg_column_size(doc), 0) + coalesce(pg_column_size(before_doc), 0)) OVER (ORDER BY seq) AS total
                FROM found),
            taken AS (SELECT * FROM sized WHERE place <= \(maximumTaken) AND (place = 1 OR total <= \(maximumTakenInBytes))),
            messages AS (
                SELECT log.seq, log.id, log.at, \(head) || coalesce(shown.object, 'null') || ',"original":' || coalesce(gone.object, 'null')
                    || ',"at":"' || to_char(log.at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}' AS body
                FROM taken AS log
                LEFT JOIN LATERAL (
                    SELECT \(Rendering.object(.master)) AS object FROM \(ChangeStore.stateAfter("log"))) AS shown ON log.kind <> 'd'
                LEFT JOIN LATERAL (
                    SELECT \(Rendering.object(.master)) AS object FROM \(ChangeStore.stateBefore("log"))) AS gone ON log.kind <> 'c'),
            queued AS (
                INSERT INTO \(try space.own("_hook_deliveries")) (id, hook, collection, object, body, size)
                SELECT md5(\(space.schema + "/" + hook + "/") || seq || '/' || extract(epoch FROM at))::uuid, \(hook), \(collection), id, body,
                    octet_length(body)
                FROM messages ORDER BY seq ON CONFLICT (id) DO NOTHING)
            SELECT (SELECT count(*) FROM found) > (SELECT count(*) FROM taken), (SELECT max(seq) FROM taken),
                EXISTS (SELECT FROM \(try space.own("_changes")) WHERE \(ChangeStore.between(from, to, collection)))
            """
    }

    // MARK: Files

    /// Takes files that are to be scanned. Returns whether there may be more.
    ///
    /// A file waits in its own row, so it is taken again if its delivery was deleted, with the hook or by `prune`.
    func takeFiles(for hook: String, in space: AppSchema) async throws -> Bool {
        let queue = try space.own("_hook_deliveries")
        let rows = try await run(
            """
            INSERT INTO \(queue) (id, hook, collection, object, body, size)
            SELECT f.delivery, h.name, '_File', f.path, '', 0
            FROM \(try space.own("_hooks")) AS h,
                (\(try filesToTake(for: hook, in: space)) ORDER BY f.updated LIMIT \(Self.maximumTaken)) AS f
            WHERE h.name = \(hook) AND h.enabled AND h.event = 'scanFile'
                AND (SELECT count(*) FROM \(queue) WHERE hook = \(hook) AND state = 'waiting') < \(Self.maximumWaiting)
            ON CONFLICT (id) DO NOTHING RETURNING 1
            """, in: space)
        return rows.count == Self.maximumTaken
    }

    /// The files that are to be scanned and have no delivery.
    private func filesToTake(for hook: String, in space: AppSchema) throws -> PostgresQuery {
        let id = Self.delivery(of: "f.blob", to: hook, in: space)
        return """
            SELECT f.path, \(id) AS delivery FROM \(try space.own("_files")) AS f
            WHERE f.state = 'scanning' AND NOT EXISTS (SELECT FROM \(try space.own("_hook_deliveries")) AS d WHERE d.id = \(id))
            """
    }

    /// The id of the delivery about a version of a file.
    private static func delivery(of blob: StaticString, to hook: String, in space: AppSchema) -> PostgresQuery {
        "md5(\(space.schema + "/" + hook + "/") || \(unescaped: blob))::uuid"
    }

    /// A version of a file that waits for a verdict.
    struct WaitingFile: Sendable {
        var path: FilePath
        var blob: BlobName
        /// The file's record, as JSON.
        var record: String
    }

    /// The file of a delivery; nil if this version no longer waits.
    func file(of claim: Claim, to hook: String, in space: AppSchema) async throws -> WaitingFile? {
        let rows = try await run(
            """
            SELECT path, blob, \(FileStore.record(for: .master)) FROM \(try space.own("_files"))
            WHERE path = (SELECT object FROM \(try space.own("_hook_deliveries")) WHERE id = \(claim.id))
                AND state = 'scanning' AND \(Self.delivery(of: "blob", to: hook, in: space)) = \(claim.id)
            """, in: space)
        return try rows.first.map {
            WaitingFile(
                path: try FilePath(try $0.decode(0, as: String.self)), blob: try FileStore.blob($0, 1, of: space),
                record: try $0.decode(2))
        }
    }

    // MARK: Delivering

    /// A delivery claimed by this copy for `leaseSeconds`.
    struct Claim: Sendable {
        var id: UUID
        var body: String
        /// Including this one.
        var attempts: Int

        var webhookID: String { id.uuidString.lowercased() }
    }

    /// Claims up to `limit` due deliveries; no other copy gets them before the lease ends.
    func claim(for hook: String, limit: Int, in space: AppSchema) async throws -> [Claim] {
        let queue = try space.own("_hook_deliveries")
        return try await run(
            """
            UPDATE \(queue) SET attempts = attempts + 1, due = now() + make_interval(secs => \(Self.leaseSeconds))
            WHERE id = ANY (ARRAY(
                SELECT id FROM \(queue) WHERE hook = \(hook) AND state = 'waiting' AND due <= now()
                    AND EXISTS (SELECT FROM \(try space.own("_hooks")) WHERE name = \(hook) AND enabled)
                ORDER BY due LIMIT \(limit) FOR UPDATE SKIP LOCKED))
            RETURNING id, body, attempts
            """, in: space
        ).map { Claim(id: try $0.decode(0), body: try $0.decode(1), attempts: try $0.decode(2)) }
    }

    /// Records the outcome of a claim. Has no effect if another copy has claimed the delivery since.
    ///
    /// - Parameter pause: The time until the next attempt; nil for no further attempt.
    func settle(_ claim: Claim, status: Int?, error: String?, pause: Duration?, in space: AppSchema) async throws {
        let queue = try space.own("_hook_deliveries")
        let outcome: PostgresQuery =
            if error == nil {
                "state = 'done', finished = clock_timestamp(), body = NULL"
            } else if let pause {
                "due = now() + make_interval(secs => \(Double(pause.components.seconds) + Double(pause.components.attoseconds) / 1e18))"
            } else {
                "state = 'dead', finished = clock_timestamp()"
            }
        _ = try await run(
            """
            UPDATE \(queue) SET status = \(status.map(Int32.init)), error = \(error), \(outcome)
            WHERE id = \(claim.id) AND attempts = \(Int32(claim.attempts)) AND state = 'waiting'
            """, in: space)
    }

    /// Deletes finished deliveries that are too old or too many.
    func prune(_ hook: String, in space: AppSchema) async throws {
        let queue = try space.own("_hook_deliveries")
        _ = try await run(
            """
            DELETE FROM \(queue) WHERE state <> 'waiting' AND id IN (
                SELECT id FROM (
                    SELECT id, finished, row_number() OVER newest AS place, sum(CASE state WHEN 'dead' THEN size ELSE 0 END) OVER newest AS total
                    FROM \(queue) WHERE hook = \(hook) AND state <> 'waiting' WINDOW newest AS (ORDER BY finished DESC, id)) AS done
                WHERE place > \(Self.maximumFinished) OR total > \(Self.maximumWaitingInBytes)
                    OR finished < now() - make_interval(days => \(Int32(Self.finishedDays))))
            """, in: space)
    }

    private func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        try await spaces.query(statement, in: space, on: postgres)
    }
}
