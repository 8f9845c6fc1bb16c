import Foundation
import MartletPostgres

/// SQL statements: those that run now, and an hourly history of those that took the most time.
struct StatementStore: Sendable {
    static let retentionInDays = 31
    static let intervalInSeconds = 3_600
    /// How many statements of one minute are added to the history.
    static let statementsPerMinute = 10
    /// How many statements of an hour are kept once the hour has passed.
    static let statementsPerHour = 30
    /// The most statements that `counts` returns.
    static let maximumCounts = 200

    let postgres: PostgresClient
    var timeLimit = ServerHealth.timeLimit

    /// What PostgreSQL has counted for a statement since its statistics began.
    struct Count: Sendable, Equatable {
        var id: Int
        var text: String
        var calls: Int
        var milliseconds: Double
    }

    /// The counts of the statements that took the most time. Empty if the server has no `pg_stat_statements`.
    func counts() async throws -> [Count] {
        try await postgres.query(
            "SELECT id, statement, calls, milliseconds FROM auth.statement_counts()", timeout: timeLimit
        ).map {
            Count(
                id: try $0.decode(0), text: try $0.decode(1), calls: try $0.decode(2), milliseconds: try $0.decode(3))
        }
    }

    /// A running statement or an open transaction.
    struct Running: Encodable, Sendable, Equatable {
        var pid: Int
        /// The role of the service, or the kind of a process of PostgreSQL.
        var role: String
        var state: String
        var seconds: Double
        /// Nil if the statement does not wait.
        var waitsFor: String?
        /// The pids of the sessions that hold the lock it waits for.
        var blockers: [Int]
        /// Nil for roles that are not Martlet's, and for `SET`, whose text contains values.
        var statement: String?
    }

    /// The longest first, at most 50.
    func running(longerThan seconds: Double) async throws -> [Running] {
        try await postgres.query(
            """
            SELECT pid, role, state, seconds, waits_for, blockers::bigint[], statement
            FROM auth.running_statements(\(seconds))
            """, timeout: timeLimit
        ).map {
            Running(
                pid: try $0.decode(0), role: try $0.decode(1), state: try $0.decode(2), seconds: try $0.decode(3),
                waitsFor: try $0.decode(4), blockers: try $0.decode(5), statement: try $0.decode(6))
        }
    }

    struct Table: Encodable, Sendable {
        /// With its schema: `app_k2v9x0q1m3ab."Notes"`.
        var name: String
        /// With indexes and large values.
        var sizeInBytes: Int
        var indexSizeInBytes: Int
        /// Estimates of PostgreSQL's statistics.
        var liveRows: Int
        var deadRows: Int
        /// Nil if it has not been vacuumed since the statistics began.
        var lastVacuum: Date?
        /// Transactions since its oldest row was frozen.
        var transactionAge: Int
    }

    /// The largest first, at most 30. Empty if the query takes too long, as it does while a table is locked: staff then
    /// need the other figures.
    func largestTables() async throws -> [Table] {
        do {
            return try await postgres.query(
                "SELECT name, bytes, index_bytes, live, dead, vacuumed, age FROM auth.largest_tables()",
                timeout: timeLimit
            ).map {
                Table(
                    name: try $0.decode(0), sizeInBytes: try $0.decode(1), indexSizeInBytes: try $0.decode(2),
                    liveRows: try $0.decode(3), deadRows: try $0.decode(4), lastVacuum: try $0.decode(5),
                    transactionAge: try $0.decode(6))
            }
        } catch let error as PostgresError
            where error.code == .timeout || ["55P03", "57014"].contains(error.sqlState)
        {
            return []
        }
    }

    /// Figures that warn of an outage. docs/OPERATIONS.md explains each with its metric.
    struct Risks: Encodable, Sendable {
        var connections: Int
        var maximumConnections: Int
        var transactionAge: Int
        var archiveFails: Bool
        var slotSizeInBytes: Int
        /// By service, how long the job that was due first has waited.
        var oldestJobsInSeconds: [String: Double]
    }

    func risks() async throws -> Risks {
        let row = try await postgres.query(
            """
            SELECT connections, maximum_connections, transaction_age, archive_fails, slot_bytes, job_seconds::text
            FROM auth.database_risks()
            """, timeout: timeLimit)[0]
        let jobs = Data(try row.decode(5, as: String.self).utf8)
        return Risks(
            connections: try row.decode(0), maximumConnections: try row.decode(1), transactionAge: try row.decode(2),
            archiveFails: try row.decode(3), slotSizeInBytes: try row.decode(4),
            oldestJobsInSeconds: try JSONDecoder().decode([String: Double].self, from: jobs))
    }

    /// The calls of a statement within a minute.
    struct Sample: Sendable, Equatable {
        var id: Int
        var text: String
        var calls: Int
        var milliseconds: Double
        /// The average of the minute with `pg_stat_statements`, otherwise the longest time seen; in milliseconds.
        var maximum: Double
    }

    /// Samples for servers without `pg_stat_statements`. Each statement that has run for more than a second counts as
    /// one call.
    func runningSamples() async throws -> [Sample] {
        try await postgres.query(
            """
            SELECT hashtextextended(statement, 0), statement, count(*), sum(least(seconds, 60)) * 1000,
                max(seconds) * 1000
            FROM auth.running_statements(1)
            WHERE state = 'active' AND statement IS NOT NULL GROUP BY statement
            """, timeout: timeLimit
        ).map {
            Sample(
                id: try $0.decode(0), text: try $0.decode(1), calls: try $0.decode(2), milliseconds: try $0.decode(3),
                maximum: try $0.decode(4))
        }
    }

    /// Adds a minute's samples with the most time to the history.
    func add(_ samples: [Sample], at time: Date) async throws {
        let kept = samples.sorted { ($1.milliseconds, $0.id) < ($0.milliseconds, $1.id) }
            .prefix(Self.statementsPerMinute)
        guard !kept.isEmpty else { return }
        // All copies lock the rows in the same order, so they cannot deadlock. A duplicate id would make the insertion
        // fail.
        let ordered = Dictionary(kept.map { ($0.id, $0) }) { first, _ in first }.values.sorted { $0.id < $1.id }
        let ids = ordered.map(\.id)
        try await postgres.execute(
            """
            WITH texts AS (
                INSERT INTO auth.statements (id, text)
                SELECT v.id, v.text FROM unnest(\(ids), \(ordered.map(\.text))) AS v (id, text)
                ON CONFLICT (id) DO NOTHING)
            INSERT INTO auth.statement_samples AS s (start, statement, calls, milliseconds, maximum)
            SELECT date_trunc('hour', \(time), 'UTC'), v.id, v.calls, v.milliseconds::float8, v.maximum::float8
            FROM unnest(
                \(ids), \(ordered.map(\.calls)), \(ordered.map { String($0.milliseconds) }),
                \(ordered.map { String($0.maximum) })) AS v (id, calls, milliseconds, maximum)
            ON CONFLICT (start, statement) DO UPDATE SET calls = s.calls + excluded.calls,
                milliseconds = s.milliseconds + excluded.milliseconds, maximum = greatest(s.maximum, excluded.maximum)
            """)
    }

    struct Row: Sendable {
        var id: Int
        var text: String
        var start: Date
        var calls: Int
        var milliseconds: Double
        var maximum: Double
    }

    /// The hourly rows of the `limit` statements that took the most time from `from` to `to`, which is exclusive; the
    /// statement with the most time first.
    func rows(from: Date, to: Date, limit: Int) async throws -> [Row] {
        try await postgres.query(
            """
            WITH most AS (
                SELECT statement, sum(milliseconds) AS total FROM auth.statement_samples
                WHERE start >= \(from) AND start < \(to) GROUP BY statement ORDER BY 2 DESC, 1 LIMIT \(limit))
            SELECT s.statement, t.text, s.start, s.calls, s.milliseconds, s.maximum
            FROM most JOIN auth.statement_samples AS s ON s.statement = most.statement
            JOIN auth.statements AS t ON t.id = s.statement
            WHERE s.start >= \(from) AND s.start < \(to) ORDER BY most.total DESC, s.statement, s.start
            """
        ).map {
            Row(
                id: try $0.decode(0), text: try $0.decode(1), start: try $0.decode(2), calls: try $0.decode(3),
                milliseconds: try $0.decode(4), maximum: try $0.decode(5))
        }
    }

    /// Deletes old history. Of each past hour, keeps only the `statementsPerHour` statements that took the most time.
    func prune(at time: Date) async throws {
        try await postgres.execute(
            """
            DELETE FROM auth.statement_samples AS s USING (
                SELECT start, statement,
                    row_number() OVER (PARTITION BY start ORDER BY milliseconds DESC, statement) AS place
                FROM auth.statement_samples) AS r
            WHERE s.start = r.start AND s.statement = r.statement
                AND (s.start < \(time) - make_interval(days => \(Int32(Self.retentionInDays)))
                    OR r.place > \(Self.statementsPerHour) AND s.start < \(time) - interval '1 hour')
            """)
        try await postgres.execute(
            """
            DELETE FROM auth.statements AS t
            WHERE NOT EXISTS (SELECT FROM auth.statement_samples AS s WHERE s.statement = t.id)
            """)
    }
}

/// Turns PostgreSQL's counts, which only grow, into what the statements took since the last reading.
struct StatementCounters: Sendable {
    private var last: [Int: StatementStore.Count] = [:]
    private var hasRead = false

    /// - Parameter counts: At most `StatementStore.maximumCounts`, of the statements with the most time.
    mutating func samples(from counts: [StatementStore.Count]) -> [StatementStore.Sample] {
        defer {
            last = Dictionary(counts.map { ($0.id, $0) }) { first, _ in first }
            hasRead = true
        }
        guard hasRead else { return [] }
        return counts.compactMap { count in
            var earlier = last[count.id]
            // A full list leaves statements out. This one may have been among them, with counts that are unknown.
            guard earlier != nil || last.count < StatementStore.maximumCounts else { return nil }
            // The counts start again after the statistics were reset.
            if let known = earlier, known.calls > count.calls { earlier = nil }
            let calls = count.calls - (earlier?.calls ?? 0)
            let milliseconds = count.milliseconds - (earlier?.milliseconds ?? 0)
            guard calls > 0, milliseconds >= 0 else { return nil }
            return StatementStore.Sample(
                id: count.id, text: count.text, calls: calls, milliseconds: milliseconds,
                maximum: milliseconds / Double(calls))
        }
    }
}
