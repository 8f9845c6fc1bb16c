import MartletAPI
import MartletCore
import MartletPostgres

/// All writes to the objects of some collections, one by one and in the order of the log, for other processes of
/// Martlet.
///
/// A process that keeps the cursor of the last write it handled gets every write exactly once, even one whose
/// transaction began much earlier and committed late.
struct ChangeFeed: Sendable {
    static let maximumCollections = 100
    static let maximumChanges = 500
    static let maximumSizeInBytes = 4 << 20
    static let maximumWaitInSeconds = 30
    /// The maximum number of waiting requests per copy of the service. Further requests are answered at once.
    static let maximumWaiting = 1_000
    /// The pause between two reads of the log for a waiting request that was woken.
    private static let pause: Duration = .milliseconds(50)
    /// The longest time that a waiting request goes without reading the log. A signal normally wakes it earlier. A
    /// signal is only lost if PostgreSQL did not accept the notification.
    private static let pollInterval: Duration = .seconds(10)

    let changes: ChangeStore
    let signal: ChangeSignal
    private let waiting = RequestSlots(ChangeFeed.maximumWaiting)

    init(changes: ChangeStore, signal: ChangeSignal) {
        self.changes = changes
        self.signal = signal
    }

    struct Query: Sendable {
        var space: AppSchema
        var collections: [String]
        /// Nil if only the end of the log is requested.
        var cursor: ChangeCursor?
        var limit: Int
        var wait: Duration
    }

    struct Page: Sendable {
        var cursor: ChangeCursor
        /// JSON objects, as described in `ReadLog`.
        var changes: [String] = []
        /// Whether there may be more changes: the follower should request the next page at once.
        var hasMore = false
        /// The cursor belongs to a different log, or is newer than this one. The page's cursor then points to the end
        /// of this log.
        var isExpired = false
        /// Collections whose log no longer has all changes after the cursor. The remaining changes are in the page.
        var lost: [ChangeStore.LogGap] = []
        /// The database's time before the log was read: later writes come after the cursor.
        var now: String
    }

    func page(_ query: Query) async throws -> Page {
        let deadline = ContinuousClock.now + query.wait
        let slot = query.wait > .zero && query.cursor != nil ? waiting.take() : nil
        while true {
            // A new stream for each pass, because abandoning the wait ends the stream. It is created before the read,
            // so that no write is missed in between.
            let signals = slot != nil ? signal.follow(query.space) : nil
            let page = try await pageNow(query)
            let isEmpty = page.changes.isEmpty && !page.hasMore && !page.isExpired && page.lost.isEmpty
            guard isEmpty, let signals,
                await SyncFeed.waitForSignal(signals, until: deadline, every: Self.pollInterval)
            else { return page }
            try await Task.sleep(for: Self.pause)
        }
    }

    private func pageNow(_ query: Query) async throws -> Page {
        let isWithin = if case .within = query.cursor?.position { true } else { false }
        let view = try await changes.view(
            of: query.collections, after: query.cursor, findsFirst: query.cursor != nil && !isWithin, in: query.space)
        guard let cursor = query.cursor, !view.isForeign else {
            return Page(cursor: view.end.cursor, isExpired: view.isForeign, now: view.now)
        }
        var page: Page
        switch cursor.position {
        case .at(let snapshot):
            // `first` and the end come from the same snapshot, so no write is missed.
            guard let first = view.first else { return Page(cursor: view.end.cursor, lost: view.lost, now: view.now) }
            page = try await read(query, from: snapshot, to: view.end.snapshot, after: first - 1, view)
        case .within(let from, let to, let seq): page = try await read(query, from: from, to: to, after: seq, view)
        case .walking:
            throw ServiceError(
                .invalidBody, "Expected the cursor of a change log, found that of a walk.", field: "after")
        }
        // The log may have been pruned while it was read.
        let after = try await changes.view(of: query.collections, after: cursor, in: query.space)
        if after.isForeign { return Page(cursor: after.end.cursor, isExpired: true, now: after.now) }
        page.lost = after.lost
        return page
    }

    private func read(_ query: Query, from: Snapshot, to: Snapshot, after seq: Int64, _ view: ChangeStore.View)
        async throws -> Page
    {
        let (rows, hasMore) = try await changes.log(
            of: query.collections, from: from, to: to, after: seq, limit: query.limit, in: query.space)
        let last = try rows.last?.decode(0, as: Int64.self) ?? seq
        let cursor = ChangeCursor(
            epoch: view.end.epoch, position: hasMore ? .within(from: from, to: to, seq: last) : .at(to))
        return Page(
            cursor: cursor, changes: try rows.map { try $0.decode(1) }, hasMore: hasMore || to != view.end.snapshot,
            now: view.now)
    }
}

extension ChangeStore {
    /// Reads the writes that `to` sees and `from` does not, after the number `seq`: number and JSON text of each, and
    /// whether there are more.
    ///
    /// Uses each collection's index on (collection, seq) and reads no more than the page. In a long log, this is fast
    /// only if `seq` is close to the first requested write.
    func log(
        of collections: [String], from: Snapshot, to: Snapshot, after seq: Int64, limit: Int, in space: AppSchema
    ) async throws -> (rows: PostgresRows, hasMore: Bool) {
        let rows = try await run(
            """
            SELECT log.seq, '{"seq":' || log.seq || ',"collection":' || to_json(log.collection) || ',"id":' || to_json(log.id)
                || ',"change":"' || CASE log.kind WHEN 'c' THEN 'created' WHEN 'u' THEN 'updated' ELSE 'deleted' END
                || '","at":"' || \(PostgresQuery.rfc3339("log.at")) || '","actor":' || coalesce(to_json(log.actor)::text, 'null')
                || ',"object":' || coalesce(shown.object, 'null') || ',"previous":' || coalesce(gone.object, 'null') || '}', log.last
            FROM (
                SELECT *, max(seq) OVER () AS last, row_number() OVER (ORDER BY seq) AS place,
                    sum(coalesce(octet_length(doc::text), 0) + coalesce(octet_length(before_doc::text), 0)) OVER (ORDER BY seq) AS size
                FROM (
                    SELECT c.* FROM (SELECT DISTINCT name FROM unnest(\(collections)) AS name) AS r, LATERAL (
                        SELECT * FROM \(try space.own("_changes"))
                        WHERE collection = r.name AND seq > \(seq) AND NOT pg_visible_in_snapshot(txid, \(from.text)::pg_snapshot)
                            AND pg_visible_in_snapshot(txid, \(to.text)::pg_snapshot)
                        ORDER BY seq LIMIT \(limit + 1)) AS c
                    ORDER BY seq LIMIT \(limit + 1)) AS found) AS log
            LEFT JOIN LATERAL (
                SELECT \(Rendering.object(.master)) AS object FROM \(Self.stateAfter("log"))) AS shown ON log.kind <> 'd'
            LEFT JOIN LATERAL (
                SELECT \(Rendering.object(.master)) AS object FROM \(Self.stateBefore("log"))) AS gone ON log.kind <> 'c'
            WHERE place <= \(limit) AND (place = 1 OR size <= \(ChangeFeed.maximumSizeInBytes))
            ORDER BY log.seq
            """, in: space)
        guard let row = rows.last else { return (rows, false) }
        return (rows, try row.decode(2, as: Int64.self) > row.decode(0, as: Int64.self))
    }
}
