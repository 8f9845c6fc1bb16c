import MartletAPI
import MartletHTTP
import MartletPostgres

/// What was written to objects of some collections, each write by itself and in the order of the log: for processes of ours that act on it.
///
/// Whoever keeps the cursor of what it has acted on gets every write once, also one whose transaction began long before and committed late.
struct ChangeFeed: Sendable {
    static let maximumCollections = 100
    static let maximumChanges = 500
    static let maximumSizeInBytes = 4 << 20
    static let maximumWaitInSeconds = 30
    /// Who waits beyond this number on one copy is answered at once.
    static let maximumWaiting = 1_000
    /// Between two looks of one who waits.
    private static let pause: Duration = .milliseconds(50)

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
        /// The log no longer has, or never had, what came after the cursor; the page's is at the end.
        var isExpired = false
    }

    func page(_ query: Query) async throws -> Page {
        let deadline = ContinuousClock.now + query.wait
        let place = query.wait > .zero && query.cursor != nil ? waiting.take() : nil
        while true {
            // A stream of its own each time: the wait that is given up ends it. Before reading, so that nothing slips between.
            let signs = place != nil ? signal.follow(query.space) : nil
            let page = try await pageNow(query)
            guard page.changes.isEmpty, !page.hasMore, !page.isExpired, let signs, await SyncFeed.sign(signs, until: deadline) else { return page }
            try await Task.sleep(for: Self.pause)
        }
    }

    private func pageNow(_ query: Query) async throws -> Page {
        guard let cursor = query.cursor else {
            return Page(cursor: try await changes.end(of: query.collections, in: query.space).cursor)
        }
        do {
            let end = try await changes.end(of: query.collections, after: cursor, in: query.space)
            let page =
                switch cursor.position {
                case .at(let snapshot): try await read(query, from: snapshot, to: end.snapshot, after: 0, end)
                case .within(let from, let to, let seq): try await read(query, from: from, to: to, after: seq, end)
                case .walking: throw HTTPProblem(.invalidBody, "This is the cursor of a walk.", field: "after")
                }
            // What was read may have been taken out of the log just before.
            _ = try await changes.end(of: query.collections, after: cursor, in: query.space)
            return page
        } catch let problem as HTTPProblem where problem.code == .cursorExpired {
            return Page(cursor: try await changes.end(of: query.collections, in: query.space).cursor, isExpired: true)
        }
    }

    private func read(_ query: Query, from: Snapshot, to: Snapshot, after seq: Int64, _ end: ChangeStore.End) async throws -> Page {
        let (rows, hasMore) = try await changes.log(of: query.collections, from: from, to: to, after: seq, limit: query.limit, in: query.space)
        let last = try rows.last?.decode(0, as: Int64.self) ?? seq
        let cursor = ChangeCursor(epoch: end.epoch, position: hasMore ? .within(from: from, to: to, seq: last) : .at(to))
        return Page(cursor: cursor, changes: try rows.map { try $0.decode(1) }, hasMore: hasMore || to != end.snapshot)
    }
}

extension ChangeStore {
    /// The writes that `to` sees and `from` does not, from behind the number `seq` on: number and JSON text of each. And whether there are more.
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
                    SELECT * FROM \(try space.own("_changes")) WHERE \(Self.between(from, to, collections)) AND seq > \(seq)
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
