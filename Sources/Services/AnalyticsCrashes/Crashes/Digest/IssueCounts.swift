import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// Counts of issues: in total and by day, release, person and tag.
struct IssueCounts: Sendable {
    /// Limits of distinct values per tag and of tags per issue.
    static let maximumValues = 100
    static let maximumKeys = 100

    let transaction: PostgresTransaction

    /// Counts newly stored reports, and reopens issues where a report requires it.
    func add(_ reports: [DigestStore.Placed], to locked: [Int64: IssueStore.Locked], now: Date) async throws {
        let users = try await addUsers(reports)
        var sums: [Sum] = []
        for (issue, reports) in Dictionary(grouping: reports, by: \.issue).sorted(by: { $0.key < $1.key }) {
            guard let locked = locked[issue] else { continue }
            let (sum, change) = Sum.of(reports, locked, users: users[issue] ?? 0, now: now)
            sums.append(sum)
            if let change { try await record(change.kind, issue, change.report) }
        }
        try await update(sums)
        try await addDays(reports)
        try await addReleases(reports)
        try await addTags(reports)
    }

    private struct Sum: Sendable {
        var issue: Int64
        var events = 0
        var users = 0
        var first: Date
        var last: Date
        var level: Level
        var isCrash = false
        var release: Release?
        var change: IssueTransition.Change?

        static func of(
            _ reports: [DigestStore.Placed], _ locked: IssueStore.Locked, users: Int, now: Date
        ) -> (Sum, (kind: IssueTransition.Change, report: DigestStore.Placed)?) {
            var (transition, change) = (
                locked.transition, Optional<(kind: IssueTransition.Change, report: DigestStore.Placed)>.none
            )
            var sum = Sum(
                issue: locked.id, users: users, first: reports[0].report.at, last: reports[0].report.at, level: .debug,
                release: locked.lastRelease)
            for placed in reports {
                if let kind = transition.take(placed.release, at: placed.report.at, now: now) {
                    change = (kind, placed)
                }
                sum.events += 1
                sum.first = min(sum.first, placed.report.at)
                sum.last = max(sum.last, placed.report.at)
                sum.level = max(sum.level, placed.report.level)
                sum.isCrash = sum.isCrash || placed.report.kind == .crash
                if let release = placed.release, sum.release.map({ release.isNewer(than: $0) }) ?? true {
                    sum.release = release
                }
            }
            sum.change = change?.kind
            return (sum, change)
        }
    }

    private func update(_ sums: [Sum]) async throws {
        try await transaction.execute(
            """
            UPDATE analytics.issues AS i SET events = i.events + q.events, users = i.users + q.users,
                first_seen = least(i.first_seen, to_timestamp(q.first / 1e6)), last_seen = greatest(i.last_seen, to_timestamp(q.last / 1e6)),
                level = greatest(i.level, q.level), kind = CASE WHEN q.crash = 1 THEN 'crash' ELSE i.kind END,
                last_release = coalesce(nullif(q.release, 0), i.last_release), first_release = coalesce(i.first_release, nullif(q.release, 0)),
                status = CASE WHEN q.change = '' THEN i.status ELSE 'unresolved' END, changed = CASE WHEN q.change = '' THEN i.changed ELSE now() END,
                regressed = CASE WHEN q.change = 'regressed' THEN now() ELSE i.regressed END,
                resolved_in = CASE WHEN q.change = '' THEN i.resolved_in END, ignored_until = CASE WHEN q.change = '' THEN i.ignored_until END,
                ignored_until_events = CASE WHEN q.change = '' THEN i.ignored_until_events END,
                ignored_until_users = CASE WHEN q.change = '' THEN i.ignored_until_users END
            FROM unnest(\(sums.map { Int($0.issue) }), \(sums.map(\.events)), \(sums.map(\.users)), \(sums.map(\.first.microseconds)),
                \(sums.map(\.last.microseconds)), \(sums.map(\.level.rawValue)), \(sums.map { $0.isCrash ? 1 : 0 }), \(sums.map { Int($0.release?.id ?? 0) }),
                \(sums.map { $0.change?.rawValue ?? "" })) AS q (issue, events, users, first, last, level, crash, release, change)
            WHERE i.id = q.issue
            """)
    }

    private func record(_ change: IssueTransition.Change, _ issue: Int64, _ placed: DigestStore.Placed) async throws {
        let report = placed.report
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_history (space, issue, kind, author, details, is_announced)
            VALUES (\(report.space.id), \(issue), \(change.rawValue), 'service', \(PostgresJSON(report.historyDetails)), \(change != .regressed))
            """)
    }

    /// Returns the number of new persons per issue.
    private func addUsers(_ reports: [DigestStore.Placed]) async throws -> [Int64: Int] {
        struct Key: Hashable {
            var issue: Int64
            var person: Int64
        }
        let seen = Dictionary(
            reports.filter { $0.report.person != 0 }.map {
                (Key(issue: $0.issue, person: $0.report.person), $0.report.received)
            }, uniquingKeysWith: max)
        guard !seen.isEmpty else { return [:] }
        let keys = seen.keys.sorted { ($0.issue, $0.person) < ($1.issue, $1.person) }
        let rows = try await transaction.query(
            """
            INSERT INTO analytics.issue_users AS u (issue, person, last_seen)
            SELECT q.issue, q.person, to_timestamp(q.seen / 1e6)
            FROM unnest(\(keys.map { Int($0.issue) }), \(keys.map { Int($0.person) }), \(keys.map { seen[$0]?.microseconds ?? 0 })) AS q (issue, person, seen)
            ON CONFLICT (issue, person) DO UPDATE SET last_seen = greatest(u.last_seen, EXCLUDED.last_seen)
            RETURNING u.issue, xmax = 0
            """)
        var new: [Int64: Int] = [:]
        for row in rows {
            let issue: Int64 = try row.decode(0)
            if try row.decode(1, as: Bool.self) { new[issue, default: 0] += 1 }
        }
        return new
    }

    private func addDays(_ reports: [DigestStore.Placed]) async throws {
        let counts = Dictionary(grouping: reports) { [Int($0.issue), $0.report.at.day] }.mapValues(\.count)
        let keys = counts.keys.sorted { $0.lexicographicallyPrecedes($1) }
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_days AS d (issue, day, events)
            SELECT q.issue, date '1970-01-01' + q.day::integer, q.events
            FROM unnest(\(keys.map { $0[0] }), \(keys.map { $0[1] }), \(keys.map { counts[$0] ?? 0 })) AS q (issue, day, events)
            ON CONFLICT (issue, day) DO UPDATE SET events = d.events + EXCLUDED.events
            """)
    }

    private func addReleases(_ reports: [DigestStore.Placed]) async throws {
        let groups = Dictionary(grouping: reports.filter { $0.release != nil }) {
            [Int($0.issue), Int($0.release?.id ?? 0)]
        }
        guard !groups.isEmpty else { return }
        let keys = groups.keys.sorted { $0.lexicographicallyPrecedes($1) }
        let times = keys.map { key in (groups[key] ?? []).map(\.report.at.microseconds) }
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_releases AS r (issue, release, events, first_seen, last_seen)
            SELECT q.issue, q.release, q.events, to_timestamp(q.first / 1e6), to_timestamp(q.last / 1e6)
            FROM unnest(\(keys.map { $0[0] }), \(keys.map { $0[1] }), \(times.map(\.count)), \(times.map { $0.min() ?? 0 }), \(times.map { $0.max() ?? 0 })
                ) AS q (issue, release, events, first, last)
            ON CONFLICT (issue, release) DO UPDATE SET events = r.events + EXCLUDED.events,
                first_seen = least(r.first_seen, EXCLUDED.first_seen), last_seen = greatest(r.last_seen, EXCLUDED.last_seen)
            """)
    }

    private struct TagKey: Hashable {
        var issue: Int64
        var tag: Event.Tag
    }

    /// Counts values that have a row, and new values up to the limit. Further values are counted as "".
    private func addTags(_ reports: [DigestStore.Placed]) async throws {
        var counts: [TagKey: (events: Int, seen: Int)] = [:]
        for placed in reports {
            for tag in placed.report.tags {
                let old = counts[TagKey(issue: placed.issue, tag: tag)] ?? (0, 0)
                counts[TagKey(issue: placed.issue, tag: tag)] = (
                    old.events + 1, max(old.seen, placed.report.received.microseconds)
                )
            }
        }
        let keys = counts.keys.sorted { ($0.issue, $0.tag.key, $0.tag.value) < ($1.issue, $1.tag.key, $1.tag.value) }
        func query(_ keys: [TagKey]) -> PostgresQuery {
            """
            unnest(\(keys.map { Int($0.issue) }), \(keys.map(\.tag.key)), \(keys.map(\.tag.value)), \(keys.map { counts[$0]?.events ?? 0 }),
                \(keys.map { counts[$0]?.seen ?? 0 })) AS q (issue, key, value, events, seen)
            """
        }
        let rows = try await transaction.query(
            """
            UPDATE analytics.issue_tags AS t SET events = t.events + q.events, last_seen = greatest(t.last_seen, to_timestamp(q.seen / 1e6))
            FROM \(query(keys)) WHERE t.issue = q.issue AND t.key = q.key AND t.value = q.value RETURNING t.issue, t.key, t.value
            """)
        let known = Set(
            try rows.map {
                TagKey(issue: try $0.decode(0), tag: Event.Tag(key: try $0.decode(1), value: try $0.decode(2)))
            })
        let new = keys.filter { !known.contains($0) }
        guard !new.isEmpty else { return }
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_tags AS t (issue, key, value, events, last_seen)
            SELECT r.issue, r.key, CASE WHEN r.known_values + r.place <= \(Self.maximumValues) THEN r.value ELSE '' END, sum(r.events)::bigint, to_timestamp(max(r.seen) / 1e6)
            FROM (SELECT q.*, row_number() OVER (PARTITION BY q.issue, q.key ORDER BY q.value) AS place,
                    (SELECT count(*) FROM analytics.issue_tags AS o WHERE o.issue = q.issue AND o.key = q.key) AS known_values,
                    (SELECT count(DISTINCT o.key) FROM analytics.issue_tags AS o WHERE o.issue = q.issue) AS known_keys
                FROM \(query(new))) AS r
            WHERE r.known_values > 0 OR r.known_keys < \(Self.maximumKeys)
            GROUP BY 1, 2, 3
            ON CONFLICT (issue, key, value) DO UPDATE SET events = t.events + EXCLUDED.events, last_seen = greatest(t.last_seen, EXCLUDED.last_seen)
            """)
    }
}
