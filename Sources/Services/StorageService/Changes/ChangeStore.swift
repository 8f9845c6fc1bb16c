import MartletAPI
import MartletCore
import MartletPostgres

/// Reads the change log of a space.
struct ChangeStore: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    /// Signs the cursors that clients get.
    let signer: CursorSigner

    /// The end of a log at one moment.
    struct End: Sendable {
        var snapshot: Snapshot
        var epoch: String

        var cursor: ChangeCursor { ChangeCursor(epoch: epoch, position: .at(snapshot)) }
    }

    /// The end of the log, for a follower that continues from `cursor`.
    ///
    /// - Throws: `cursor-expired` if the log no longer has, or never had, all changes after the cursor.
    func end(of collection: CollectionName, after cursor: ChangeCursor? = nil, in space: AppSchema) async throws -> End
    {
        let view = try await view(of: [collection.text], after: cursor, in: space)
        guard !view.isForeign, view.lost.isEmpty else { throw ServiceError(.cursorExpired) }
        return view.end
    }

    /// The state of the log at one moment, for a follower of several collections that continues from a cursor.
    struct View: Sendable {
        var end: End
        /// The database's time before the log was read. Writes get their timestamps from the same clock.
        var now: String
        /// The cursor belongs to a different log, or is newer than this one, so the changes after it are unknown.
        var isForeign: Bool
        /// Collections whose log no longer has all changes after the cursor.
        var lost: [LogGap]
        /// The log number of the first change after the cursor; nil if there is none or it was not requested.
        var first: Int64?
    }

    struct LogGap: Sendable, Hashable {
        var collection: String
        /// The latest transaction with changes that were pruned.
        var transaction: String
    }

    /// - Parameter findsFirst: Whether to determine `first`.
    func view(of collections: [String], after cursor: ChangeCursor?, findsFirst: Bool = false, in space: AppSchema)
        async throws -> View
    {
        let start = cursor?.start.text
        let columns = try Self.end(of: collections, in: space)
        // Reads the log from the cursor on, by the index on (collection, txid, seq).
        let first: PostgresQuery =
            !findsFirst
            ? "NULL::bigint"
            : """
            (SELECT min(seq) FROM \(try space.own("_changes"))
            WHERE collection = ANY (\(collections)) AND txid >= pg_snapshot_xmin(\(start)::pg_snapshot) AND NOT pg_visible_in_snapshot(txid, \(start)::pg_snapshot)
                AND pg_visible_in_snapshot(txid, pg_current_snapshot()))
            """
        let rows = try await run(
            """
            SELECT \(columns), \(.rfc3339("now()")),
                coalesce(pg_snapshot_xmax(\(start)::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()), FALSE),
                ARRAY(
                    SELECT collection || '/' || txid FROM \(try space.own("_changes_floor"))
                    WHERE collection = ANY (\(collections)) AND NOT pg_visible_in_snapshot(txid, \(start)::pg_snapshot) ORDER BY collection),
                \(first)
            """, in: space)
        let row = rows[0]
        let end = try Self.end(row)
        let isAhead = try row.decode(4, as: Bool.self)
        let lost = try row.decode(5, as: [String].self).map { text in
            let parts = text.split(separator: "/", maxSplits: 1)
            return LogGap(collection: String(parts[0]), transaction: String(parts[1]))
        }
        return View(
            end: end, now: try row.decode(3), isForeign: cursor.map { $0.epoch != end.epoch || isAhead } ?? false,
            lost: lost, first: try row.decode(6))
    }

    /// The end of the log, and which of `collections` have changes that `snapshot` does not see.
    func changedCollections(of collections: [String], since snapshot: Snapshot?, in space: AppSchema) async throws -> (
        end: End, changed: Set<String>
    ) {
        let rows = try await run(
            """
            SELECT \(try Self.end(of: collections, in: space)), ARRAY(
                SELECT name FROM unnest(\(collections)) AS name
                WHERE \(snapshot?.text) IS NULL OR EXISTS (
                    SELECT FROM \(try space.own("_changes"))
                    WHERE collection = name AND txid >= pg_snapshot_xmin(\(snapshot?.text)::pg_snapshot)
                        AND NOT pg_visible_in_snapshot(txid, \(snapshot?.text)::pg_snapshot)))
            """, in: space)
        return (try Self.end(rows[0]), Set(try rows[0].decode(3, as: [String].self)))
    }

    /// A part of the changes between two snapshots, in order.
    struct Batch: Sendable {
        static let maximumChanges = 500
        static let maximumSizeInBytes = 4 << 20

        /// See `LiveShape.Change`.
        var rows: PostgresRows
        /// The log number of the last change.
        var last: Int64
        /// Whether there are more.
        var hasMore: Bool
    }

    /// The changes that `to` sees and `from` does not, after the number `seq`; nil if there are none.
    ///
    /// - Parameter isPast: Whether the changes may be old. Columns 11 and 12 then contain whether the rules currently
    ///   allow reading the object, and its current readers, so that callers who have lost access do not see earlier
    ///   states. The readers of a permanently deleted object are unknown, so only its deletion is shown.
    func changes(
        from: Snapshot, to: Snapshot, after seq: Int64, of shape: LiveShape, isPast: Bool, in space: AppSchema
    ) async throws -> Batch? {
        guard let table = PostgresIdentifier(schema: space.schema, name: shape.collection) else {
            throw ServiceError(.invalidName)
        }
        let object = isPast ? shape.past : shape.object
        let now: PostgresQuery =
            !isPast
            ? "TRUE, NULL::text[]" : "coalesce(now.is_readable, log.kind = 'd' AND present.id IS NULL), present.readers"
        let present: PostgresQuery =
            !isPast
            ? ""
            : """
            LEFT JOIN \(table) AS present ON present.id = log.id
            LEFT JOIN LATERAL (
                SELECT coalesce((\(shape.isReadable)), FALSE) AS is_readable FROM \(Self.stateAfter("present")) OFFSET 0) AS now ON present.id IS NOT NULL
            """
        let rows: PostgresRows
        do {
            rows = try await run(
                try Self.changesQuery(from: from, to: to, after: seq, of: shape, object, now, present, in: space),
                in: space)
        } catch let error as PostgresError where error.isUndefinedTable {
            // Nothing was written yet, or the collection was just dropped; the next check of the log's floor
            // distinguishes the two.
            return nil
        }
        guard let row = rows.last else { return nil }
        let last = try row.decode(0, as: Int64.self)
        return Batch(rows: rows, last: last, hasMore: try row.decode(10, as: Int64.self) > last)
    }

    private static func changesQuery(
        from: Snapshot, to: Snapshot, after seq: Int64, of shape: LiveShape, _ object: PostgresQuery,
        _ now: PostgresQuery,
        _ present: PostgresQuery, in space: AppSchema
    ) throws -> PostgresQuery {
        """
        SELECT log.seq, log.id, log.kind::text, log.readers, log.before_readers,
            coalesce(after.is_readable, FALSE), coalesce(after.matches, FALSE), coalesce(before.is_readable, FALSE), coalesce(before.matches, FALSE),
            CASE WHEN after.is_readable AND (after.matches OR before.is_readable AND before.matches) THEN shown.object
                WHEN log.kind = 'd' AND before.is_readable AND before.matches THEN gone.object END,
            log.last, \(now)
        FROM (
            SELECT *, max(seq) OVER () AS last, row_number() OVER (ORDER BY seq) AS place,
                sum(coalesce(octet_length((CASE WHEN kind = 'd' THEN before_doc ELSE doc END)::text), 0)) OVER (ORDER BY seq) AS size
            FROM (
                SELECT * FROM \(try space.own("_changes"))
                WHERE \(Self.between(from, to, shape.collection)) AND seq > \(seq)
                ORDER BY seq LIMIT \(Batch.maximumChanges + 1)) AS found) AS log
        \(present)
        LEFT JOIN LATERAL (
            SELECT coalesce((\(shape.isReadable)), FALSE) AS is_readable, coalesce((\(shape.matches)), FALSE) AS matches
            FROM \(Self.stateAfter("log")) OFFSET 0) AS after ON log.kind <> 'd'
        LEFT JOIN LATERAL (
            SELECT coalesce((\(shape.isReadable)), FALSE) AS is_readable, coalesce((\(shape.matches)), FALSE) AS matches
            FROM \(Self.stateBefore("log")) OFFSET 0) AS before ON log.kind <> 'c'
        LEFT JOIN LATERAL (SELECT \(object) AS object FROM \(Self.stateAfter("log"))) AS shown ON log.kind <> 'd'
        LEFT JOIN LATERAL (SELECT \(object) AS object FROM \(Self.stateBefore("log"))) AS gone ON log.kind = 'd'
        WHERE place <= \(Batch.maximumChanges) AND (place = 1 OR size <= \(Batch.maximumSizeInBytes))
        ORDER BY log.seq
        """
    }

    // MARK: Parts of statements

    /// The part of a collection's log that `to` sees and `from` does not.
    ///
    /// The comparisons are redundant, but the index on (collection, txid, seq) supports them.
    static func between(_ from: Snapshot, _ to: Snapshot, _ collection: String) -> PostgresQuery {
        "collection = \(collection) AND \(between(from, to))"
    }

    private static func between(_ from: Snapshot, _ to: Snapshot) -> PostgresQuery {
        """
        txid >= pg_snapshot_xmin(\(from.text)::pg_snapshot) AND txid < pg_snapshot_xmax(\(to.text)::pg_snapshot)
            AND NOT pg_visible_in_snapshot(txid, \(from.text)::pg_snapshot) AND pg_visible_in_snapshot(txid, \(to.text)::pg_snapshot)
        """
    }

    /// A row named `state` with the columns of an object, so that conditions on objects can be applied unchanged.
    static func stateAfter(_ log: StaticString) -> PostgresQuery {
        """
        (SELECT \(unescaped: log).id, \(unescaped: log).created, \(unescaped: log).updated, NULL::timestamptz AS deleted,
            \(unescaped: log).version, \(unescaped: log).readers, \(unescaped: log).writers, \(unescaped: log).doc) AS state
        """
    }

    static func stateBefore(_ log: StaticString) -> PostgresQuery {
        """
        (SELECT \(unescaped: log).id, \(unescaped: log).created, \(unescaped: log).before_updated AS updated, NULL::timestamptz AS deleted,
            \(unescaped: log).before_version AS version, \(unescaped: log).before_readers AS readers, NULL::text[] AS writers,
            \(unescaped: log).before_doc AS doc) AS state
        """
    }

    /// Identifies the log to which transaction numbers refer. Differs for another cluster, another timeline (a restore
    /// to a point in time, a promoted standby) and another table (a restore from a dump).
    static func epoch(of space: AppSchema) throws -> PostgresQuery {
        "(SELECT left(md5(\(PostgresQuery.recoveryTimeline) || '/' || to_regclass(\(try space.own("_changes").quoted))::oid), 12))"
    }

    /// The columns that `end(_:)` decodes: the snapshot, the epoch, and the latest transaction in the logs of
    /// `collections` that the snapshot sees, including pruned ones.
    static func end(of collections: [String], in space: AppSchema) throws -> PostgresQuery {
        """
        pg_current_snapshot()::text, \(try epoch(of: space)), greatest(
            (SELECT txid FROM \(try space.own("_changes_floor")) WHERE collection = ANY (\(collections)) ORDER BY txid DESC LIMIT 1),
            (SELECT latest.txid FROM unnest(\(collections)) AS name, LATERAL (
                SELECT txid FROM \(try space.own("_changes")) WHERE collection = name ORDER BY txid DESC LIMIT 1) AS latest
            ORDER BY latest.txid DESC LIMIT 1))::text
        """
    }

    static func end(_ row: PostgresRow) throws -> End {
        let last = try row.decode(2, as: String?.self)
        guard let snapshot = Snapshot(try row.decode(0, as: String.self)) else { throw ServiceError(.internalError) }
        return End(snapshot: snapshot.durable(upTo: last.flatMap { UInt64($0) }), epoch: try row.decode(1))
    }

    func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        try await spaces.query(statement, in: space, on: postgres)
    }
}
