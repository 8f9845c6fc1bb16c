import MartletAPI
import MartletCore
import MartletPostgres

/// The changes in a collection since a cursor, for clients that keep a copy and are not always connected.
///
/// Without a cursor it first walks through all objects, by id, and then returns the changes made meanwhile.
struct SyncFeed: Sendable {
    static let maximumWaitInSeconds = 30
    static let maximumPageSizeInBytes = 8 << 20
    /// The maximum number of waiting requests per copy of the service. Further requests are answered at once.
    static let maximumWaiting = 1_000
    /// The pause between two reads of a waiting request.
    private static let pause: Duration = .milliseconds(100)

    let changes: ChangeStore
    let signal: ChangeSignal
    let rights: RightsStore
    let waiting = RequestSlots(SyncFeed.maximumWaiting)

    init(changes: ChangeStore, signal: ChangeSignal, rights: RightsStore) {
        self.changes = changes
        self.signal = signal
        self.rights = rights
    }

    struct Query: Sendable {
        var condition: PostgresQuery?
        /// Whether an index supports the condition.
        var isIndexed = false
        var keys: [String]?
        var limit = ListQuery.defaultLimit
        var wait: Duration = .zero
    }

    struct Page: Sendable {
        var cursor: ChangeCursor
        /// Whether there may be more changes: the client should request the next page at once.
        var hasMore: Bool
        /// Cell 2 contains the JSON texts of changed objects, cell 3 the ids of deleted ones, each joined by commas.
        /// Nil if there are neither.
        var row: PostgresRow?
        fileprivate var isEmpty = false
    }

    /// - Parameters:
    ///   - revision: The revision of rights before those in `scope` were read.
    ///   - refreshed: The query and scope with the caller's current rights. Called before each read after a wait, and
    ///     after a read if rights changed meanwhile, because the page may show a write that came after the change.
    /// - Throws: `forbidden`, `cursor-expired`, and the errors of `refreshed`.
    func page(
        _ query: Query, after cursor: ChangeCursor?, in scope: QueryScope, at revision: Int,
        refreshed: () async throws -> (Query, QueryScope)
    ) async throws -> Page {
        var (query, scope, revision) = (query, scope, revision)
        let deadline = ContinuousClock.now + query.wait
        var slot: RequestSlots.Slot?
        while true {
            try scope.access.require(.find)
            // A new stream for each pass, because abandoning the wait ends the stream. It is created before the read,
            // so that no write is missed in between.
            let signals = query.wait > .zero ? signal.follow(scope.space) : nil
            let page = try await pageNow(query, after: cursor, in: scope)
            if !page.isEmpty, rights.revision != revision {
                revision = rights.revision
                let former = try Self.shown(query, scope)
                (query, scope) = try await refreshed()
                guard try Self.shown(query, scope) == former else { continue }
            }
            guard page.isEmpty, !page.hasMore, let signals else { return page }
            slot = slot ?? waiting.take()
            guard slot != nil, await Self.waitForSignal(signals, until: deadline) else { return page }
            try await Task.sleep(for: Self.pause)
            revision = rights.revision
            (query, scope) = try await refreshed()
        }
    }

    /// The parts of the query and the scope that decide which objects and fields a page shows.
    private static func shown(_ query: Query, _ scope: QueryScope) throws -> [PostgresQuery?] {
        let access = scope.access
        try access.require(.find)
        return [
            access.readable(for: .find), query.condition, Rendering.object(access, keys: query.keys, isPast: true),
        ]
    }

    private func pageNow(_ query: Query, after cursor: ChangeCursor?, in scope: QueryScope) async throws -> Page {
        let end = try await changes.end(of: scope.collection, after: cursor, in: scope.space)
        let page =
            switch cursor?.position {
            case nil: try await walk(query, since: end.snapshot, after: "", end, scope)
            case .walking(let snapshot, let last): try await walk(query, since: snapshot, after: last, end, scope)
            case .at(let snapshot):
                try await changed(query, from: snapshot, to: end.snapshot, after: 0, cursor, end, scope)
            case .within(let from, let to, let seq):
                try await changed(query, from: from, to: to, after: seq, cursor, end, scope)
            }
        // The log may have been pruned while it was read.
        if let cursor { _ = try await changes.end(of: scope.collection, after: cursor, in: scope.space) }
        return page
    }

    // MARK: The walk

    private func walk(
        _ query: Query, since snapshot: Snapshot, after last: String, _ end: ChangeStore.End, _ scope: QueryScope
    ) async throws -> Page {
        let rows: PostgresRows
        do {
            // The shorter time limit for rules that read other objects does not apply here: a device cannot narrow its
            // first walk, so it would be stopped at the same object each time.
            rows = try await changes.run(try Self.walking(query, after: last, in: scope), in: scope.space)
        } catch let error as PostgresError where error.isUndefinedTable {
            return Page(
                cursor: ChangeCursor(epoch: end.epoch, position: .at(snapshot), isWalked: true), hasMore: false,
                isEmpty: true)
        }
        let hasMore = try rows[0].decode(1, as: Bool.self)
        let last = try rows[0].decode(0, as: String?.self)
        let position: ChangeCursor.Position = hasMore ? .walking(since: snapshot, last: last ?? "") : .at(snapshot)
        return Page(
            cursor: ChangeCursor(epoch: end.epoch, position: position, isWalked: !hasMore), hasMore: hasMore,
            row: rows[0], isEmpty: last == nil)
    }

    /// The statement for one page of the walk. If an index supports the filter, it is planned for the actual values, as
    /// for lists.
    static func walking(_ query: Query, after last: String, in scope: QueryScope) throws -> PostgresQuery {
        let access = scope.access
        let parts = [access.readable(for: .find), query.condition].compactMap(\.self)
        // Conditions are not wrapped in a function, because no index would support them there.
        let condition = parts.isEmpty ? "TRUE" : parts.map { "(\($0))" as PostgresQuery }.joined(separator: " AND ")
        var statement: PostgresQuery = """
            SELECT max(id), coalesce(count(*) < max(total), FALSE), coalesce(string_agg(object, ',' ORDER BY id), ''), ''
            FROM (
                SELECT *, row_number() OVER (ORDER BY id) AS place, count(*) OVER () AS total,
                    sum(octet_length(object)) OVER (ORDER BY id) AS size
                FROM (
                    SELECT id, \(Rendering.object(access, keys: query.keys)) AS object FROM \(try scope.table)
                    WHERE deleted IS NULL AND id > \(last) AND \(condition)\(query.isIndexed ? ListStatement.rare : "")
                    ORDER BY id LIMIT \(query.limit + 1)) AS found) AS sized
            WHERE place <= \(query.limit) AND (place = 1 OR size <= \(Self.maximumPageSizeInBytes))
            """
        statement.isPlannedForValues = query.isIndexed
        return statement
    }

    // MARK: The log

    /// Compares the states of each changed object at `from` and at `to`. An object that the caller could see at `from`
    /// but not at `to` counts as deleted. One that the caller could see at neither is omitted. Since `to` may be long
    /// ago, an object that the caller may not see now counts as invisible at `to`.
    private func changed(
        _ query: Query, from: Snapshot, to: Snapshot, after seq: Int64, _ cursor: ChangeCursor?, _ end: ChangeStore.End,
        _ scope: QueryScope
    ) async throws -> Page {
        let isWalked = cursor?.isWalked ?? false
        let access = scope.access
        let log = try scope.space.own("_changes")
        let visible = Self.visible(query, access)
        let readable = access.readable(for: .find) ?? "TRUE"
        // A walk may have shown any of the intermediate states.
        let wasVisible: PostgresQuery =
            !isWalked
            ? "FALSE"
            : """
            EXISTS (
                SELECT FROM range AS meant
                JOIN \(log) AS passed ON passed.collection = \(scope.collection.text) AND passed.txid = meant.txid AND passed.seq = meant.seq
                CROSS JOIN LATERAL (SELECT \(visible) AS matches FROM \(ChangeStore.stateAfter("passed")) OFFSET 0) AS seen
                WHERE meant.id = page.id AND passed.kind <> 'd' AND seen.matches)
            """
        var statement: PostgresQuery = """
            WITH range AS (
                SELECT id, seq, txid FROM \(log) WHERE \(ChangeStore.between(from, to, scope.collection.text))),
            first AS (SELECT DISTINCT ON (id) id, seq, txid FROM range ORDER BY id, seq),
            last AS (SELECT DISTINCT ON (id) id, seq, txid FROM range ORDER BY id, seq DESC),
            page AS (
                SELECT id, last.seq, last.txid, first.seq AS first_seq, first.txid AS first_txid FROM last JOIN first USING (id)
                WHERE last.seq > \(seq) ORDER BY last.seq LIMIT \(query.limit + 1)),
            states AS (
                SELECT page.seq, page.id, fate.is_in, coalesce(before.matches, FALSE) OR NOT fate.is_in AND \(wasVisible) AS was_in,
                    CASE WHEN fate.is_in THEN shown.object END AS object
                FROM page
                JOIN \(log) AS new ON new.collection = \(scope.collection.text) AND new.txid = page.txid AND new.seq = page.seq
                LEFT JOIN \(try scope.table) AS present ON present.id = page.id AND present.deleted IS NULL
                JOIN \(log) AS old ON old.collection = \(scope.collection.text) AND old.txid = first_txid AND old.seq = first_seq
                LEFT JOIN LATERAL (
                    SELECT \(visible) AS matches FROM \(ChangeStore.stateAfter("new")) OFFSET 0) AS after ON new.kind <> 'd'
                LEFT JOIN LATERAL (
                    SELECT \(readable) AS is_readable FROM \(ChangeStore.stateAfter("present")) OFFSET 0) AS now
                    ON present.id IS NOT NULL
                CROSS JOIN LATERAL (SELECT coalesce(after.matches AND now.is_readable, FALSE) AS is_in) AS fate
                LEFT JOIN LATERAL (
                    SELECT \(visible) AS matches FROM \(ChangeStore.stateBefore("old")) OFFSET 0) AS before ON old.kind <> 'c'
                LEFT JOIN LATERAL (
                    SELECT \(Rendering.object(access, keys: query.keys, isPast: true)) AS object
                    FROM \(ChangeStore.stateAfter("new")) OFFSET 0) AS shown ON TRUE)
            SELECT max(seq), coalesce(count(*) < max(total), FALSE),
                coalesce(string_agg(object, ',' ORDER BY seq), ''),
                coalesce(string_agg('"' || id || '"', ',' ORDER BY seq) FILTER (WHERE was_in AND NOT is_in), '')
            FROM (
                SELECT *, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS total,
                    sum(coalesce(octet_length(object), 0)) OVER (ORDER BY seq) AS size
                FROM states) AS sized
            WHERE place <= \(query.limit) AND (place = 1 OR size <= \(Self.maximumPageSizeInBytes))
            """
        let rows: PostgresRows
        do {
            statement.timeLimit = scope.timeLimit()
            rows = try await changes.run(statement, in: scope.space)
        } catch let error as PostgresError where error.isUndefinedTable {
            // Nothing was written yet, or the collection was just dropped; the next check of the log's floor
            // distinguishes the two.
            let cursor = ChangeCursor(epoch: end.epoch, position: .at(to))
            return Page(cursor: cursor, hasMore: to != end.snapshot, isEmpty: true)
        }
        let isCut = try rows[0].decode(1, as: Bool.self)
        let last = try rows[0].decode(0, as: Int64?.self)
        let isEmpty = rows[0].withBytes(2) { $0?.isEmpty ?? true } && rows[0].withBytes(3) { $0?.isEmpty ?? true }
        let position: ChangeCursor.Position = isCut ? .within(from: from, to: to, seq: last ?? seq) : .at(to)
        return Page(
            cursor: ChangeCursor(epoch: end.epoch, position: position, isWalked: isWalked && isCut),
            hasMore: isCut || to != end.snapshot, row: rows[0], isEmpty: isEmpty)
    }

    private static func visible(_ query: Query, _ access: Access) -> PostgresQuery {
        let parts = [access.readable(for: .find), query.condition].compactMap(\.self)
        return parts.isEmpty ? "TRUE" : "coalesce((\(parts.joined(separator: " AND "))), FALSE)"
    }

    // MARK: Waiting

    /// Returns true after a signal or when it is time to poll; false at the deadline.
    static func waitForSignal(
        _ signals: AsyncStream<Void>, until deadline: ContinuousClock.Instant,
        every interval: Duration = ChangeSignal.pollInterval
    ) async -> Bool {
        let now = ContinuousClock.now
        guard now < deadline, !Task.isCancelled else { return false }
        return await withTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                for await _ in signals { return true }
                return false
            }
            tasks.addTask {
                let wait = min(deadline, now + interval)
                return (try? await Task.sleep(until: wait)) != nil
            }
            defer { tasks.cancelAll() }
            return await tasks.next() ?? false
        }
    }
}
