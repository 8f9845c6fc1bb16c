import MartletAPI
import MartletHTTP
import MartletPostgres

/// What was written to objects of some collections, each write by itself and in the order of the log: for processes of
/// ours that act on it.
///
/// Whoever keeps the cursor of what it has acted on gets every write once, also one whose transaction began long before
/// and committed late.
struct ChangeFeed: Sendable {
    static let maximumCollections = 100
    static let maximumChanges = 500
    static let maximumSizeInBytes = 4 << 20
    static let maximumWaitInSeconds = 30
    /// Who waits beyond this number on one copy is answered at once.
    static let maximumWaiting = 1_000
    /// Between two looks of one who waits, when there are signs of writes.
    private static let pause: Duration = .milliseconds(50)
    /// How long one who waits goes without looking: signs come by themselves, and could only be lost with a
    /// notification that PostgreSQL did not take.
    private static let lookInterval: Duration = .seconds(10)

    let changes: ChangeStore
    let signal: ChangeSignal
    private let waiting = Places(ChangeFeed.maximumWaiting)

    init(changes: ChangeStore, signal: ChangeSignal) {
        self.changes = changes
        self.signal = signal
    }

    struct Query: Sendable {
        var space: AppSpace
        var collections: [String]
        /// Nil: the end of the log is all that is asked for.
        var cursor: ChangeCursor?
        var limit: Int
        var wait: Duration
    }

    struct Page: Sendable {
        var cursor: ChangeCursor
        /// JSON objects, as `ReadLog` describes them.
        var changes: [String] = []
        /// Whether asking again at once is worth it.
        var hasMore = false
        /// The log never had what came after the cursor; the page's is at the end.
        var isExpired = false
        /// Of these collections it no longer has all: what is left is told.
        var lost: [ChangeStore.Lost] = []
        /// The database's time from before the log was looked at: what is written from then on is behind the cursor.
        var now: String
    }

    func page(_ query: Query) async throws -> Page {
        let deadline = ContinuousClock.now + query.wait
        let place = query.wait > .zero && query.cursor != nil ? waiting.take() : nil
        while true {
            // A stream of its own each time: the wait that is given up ends it. Before reading, so that nothing slips
            // between.
            let signs = place != nil ? signal.follow(query.space) : nil
            let page = try await pageNow(query)
            let isEmpty = page.changes.isEmpty && !page.hasMore && !page.isExpired && page.lost.isEmpty
            guard isEmpty, let signs, await SyncFeed.sign(signs, until: deadline, every: Self.lookInterval) else {
                return page
            }
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
            // What one moment sees: nothing can slip between.
            guard let first = view.first else { return Page(cursor: view.end.cursor, lost: view.lost, now: view.now) }
            page = try await read(query, from: snapshot, to: view.end.snapshot, after: first - 1, view)
        case .within(let from, let to, let seq): page = try await read(query, from: from, to: to, after: seq, view)
        case .walking: throw HTTPProblem(.invalidBody, "This is the cursor of a walk.", field: "after")
        }
        // What was read may have been taken out of the log just before.
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
    /// The writes that `to` sees and `from` does not, from behind the number `seq` on: number and JSON text of each.
    /// And whether there are more.
    ///
    /// Reads each collection's log in its order by the index on (collection, seq), and no more of it than the page: of
    /// a long log `seq` must be near the first that is wanted.
    func log(
        of collections: [String], from: Snapshot, to: Snapshot, after seq: Int64, limit: Int, in space: AppSpace
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
                    SELECT c.* FROM (SELECT DISTINCT name FROM unnest(\(collections)) AS name) AS wanted, LATERAL (
                        SELECT * FROM \(try space.own("_changes"))
                        WHERE collection = wanted.name AND seq > \(seq) AND NOT pg_visible_in_snapshot(txid, \(from.text)::pg_snapshot)
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
