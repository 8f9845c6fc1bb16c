import Foundation
import MartletPostgres

/// Plans and builds blocks. Each step is one transaction, and one instance works at a time.
///
/// Blocks are ranges of `received`, so a late event ends up in a later block. A range is planned only once every
/// transaction that began within it has ended. After that, its events no longer change; a block can be rebuilt at any
/// time.
struct BlockStore: Sendable {
    /// The number of waiting events at which a block is planned.
    static let eventsPerBlock = 50_000
    /// Larger blocks are not built, and their events are read from the table. Only a bulk insert by the operator writes
    /// that many events within ten seconds.
    static let maximumEvents = 1_000_000
    /// Length of the range of time planned in one step, in seconds. Steps end at multiples of it, so a step never spans
    /// two days.
    static let longestStep = 6 * 3_600
    static let timeout: Duration = .seconds(120)

    let postgres: PostgresClient
    var eventsPerBlock = Self.eventsPerBlock
    /// Limit for the properties of one block, which are held in memory together. Properties beyond it are not stored.
    var maximumPropertiesInBytes = 64 << 20
    /// How long a transaction that has just begun may take to become visible, in seconds.
    var settlingTime = RollUpStore.longestInsert

    /// Plans the blocks of the next range of time.
    ///
    /// - Returns: false if no range is due, or another instance is planning.
    func plan() async throws -> Bool {
        try await postgres.withTransaction { transaction in
            guard let (first, last, isFirst) = try await range(transaction), first < last else { return false }
            // The first run discards all existing blocks.
            if isFirst {
                try await transaction.execute("DELETE FROM analytics.blocks", timeout: Self.timeout)
                try await transaction.execute("DELETE FROM analytics.block_spaces")
            }
            let before = BlockPlan(eventsPerBlock: eventsPerBlock, waiting: try await Self.waiting(transaction))
            var plan = before
            var query: PostgresQuery =
                """
                SELECT space, extract(epoch FROM slot)::bigint + \(BlockPlan.slot), events FROM (
                    SELECT space, date_bin('10 seconds', received, timestamptz 'epoch') AS slot, count(*) AS events FROM analytics.events
                    WHERE received >= \(Self.date(first)) AND received < \(Self.date(last)) GROUP BY 1, 2) AS slots
                ORDER BY 2, 1
                """
            query.isPrepared = false
            for row in try await transaction.query(query, timeout: Self.timeout) {
                plan.add(try row.decode(2), of: try row.decode(0), until: try row.decode(1), start: first)
            }
            if last % 86_400 == 0 { plan.endDay(at: last) }
            try await Self.write(plan, insteadOf: before, transaction)
            try await transaction.execute("UPDATE analytics.block_reach SET reached = \(Self.date(last))")
            return true
        }
    }

    /// The range to plan, in seconds since 1970, and whether it is the first one; nil if another instance is planning.
    private func range(_ transaction: PostgresTransaction) async throws -> (first: Int, last: Int, isFirst: Bool)? {
        let rows = try await transaction.query(
            """
            SELECT extract(epoch FROM first)::bigint, extract(epoch FROM date_bin('10 seconds', least(
                now() - make_interval(secs => \(Double(settlingTime))), date_bin(step, first, timestamptz 'epoch') + step,
                (SELECT min(xact_start) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user)),
                timestamptz 'epoch'))::bigint, is_first
            FROM (
                SELECT CASE WHEN isfinite(reached) THEN reached ELSE coalesce((SELECT min(day) FROM analytics.events_days() AS day)::timestamp AT TIME ZONE 'UTC',
                    date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') END AS first, NOT isfinite(reached) AS is_first
                FROM analytics.block_reach FOR UPDATE SKIP LOCKED) AS done, make_interval(secs => \(Double(Self.longestStep))) AS step
            """)
        guard let row = rows.first else { return nil }
        return (try row.decode(0), try row.decode(1), try row.decode(2))
    }

    private static func waiting(_ transaction: PostgresTransaction) async throws -> [Int32: BlockPlan.Waiting] {
        var waiting: [Int32: BlockPlan.Waiting] = [:]
        for row in try await transaction.query(
            "SELECT space, extract(epoch FROM since)::bigint, waiting FROM analytics.block_spaces")
        {
            waiting[try row.decode(0)] = BlockPlan.Waiting(since: try row.decode(1), events: try row.decode(2))
        }
        return waiting
    }

    private static func write(_ plan: BlockPlan, insteadOf before: BlockPlan, _ transaction: PostgresTransaction)
        async throws
    {
        guard plan != before else { return }
        try await transaction.execute("DELETE FROM analytics.block_spaces")
        let waiting = plan.waiting.sorted { $0.key < $1.key }
        try await transaction.execute(
            """
            INSERT INTO analytics.block_spaces (space, since, waiting)
            SELECT space, to_timestamp(since), waiting FROM unnest(
                \(waiting.map { Int($0.key) }), \(waiting.map(\.value.since)), \(waiting.map(\.value.events))) AS w (space, since, waiting)
            """)
        try await transaction.execute(
            """
            INSERT INTO analytics.blocks (space, received_from, received_to, events)
            SELECT space, to_timestamp(first), to_timestamp(last), events FROM unnest(
                \(plan.blocks.map { Int($0.space) }), \(plan.blocks.map(\.from)), \(plan.blocks.map(\.to)), \(plan.blocks.map(\.events)))
                AS b (space, first, last, events)
            """)
    }

    private static func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }

    /// Number of blocks that are planned but not built.
    func planned() async throws -> Int {
        try await postgres.query(
            "SELECT count(*) FROM analytics.blocks WHERE NOT is_built AND events <= \(Self.maximumEvents)"
        ).first?.decode(0) ?? 0
    }

    /// Deletes the blocks of days whose events have been deleted.
    static func forgetDays(_ postgres: PostgresClient) async throws {
        try await postgres.execute(
            """
            DELETE FROM analytics.blocks AS b USING analytics.spaces AS s WHERE b.space = s.id AND b.received_to <= greatest(
                s.swept::timestamp AT TIME ZONE 'UTC', (SELECT min(day) FROM analytics.events_days() AS day)::timestamp AT TIME ZONE 'UTC')
            """, timeout: timeout)
    }
}
