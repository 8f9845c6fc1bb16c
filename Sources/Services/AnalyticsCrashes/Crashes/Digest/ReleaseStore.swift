import Foundation
import MartletCore
import MartletPostgres
import MartletSentry
import Synchronization

/// Finds or creates releases by name. Recently used ones are cached.
final class ReleaseStore: Sendable {
    /// The maximum number per space; reports of further releases have no release.
    static let maximumReleases = 5_000
    private static let maximumKnown = 10_000
    private static let refreshInterval: TimeInterval = 60

    struct Key: Hashable, Sendable {
        var space: Int32
        var name: String
    }

    private struct Known {
        var release: Release
        var seen: Date
    }

    private let now: @Sendable () -> Date
    private let known = Mutex<[Key: Known]>([:])

    init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// The releases with these names, created where missing.
    func releases(_ names: [(space: Int32, name: ReleaseName, seen: Date)], _ transaction: PostgresTransaction)
        async throws -> [Key: Release]
    {
        var (found, missing) = ([Key: Release](), [Key: (name: ReleaseName, seen: Date)]())
        let now = now()
        known.withLock { known in
            for entry in names {
                let key = Key(space: entry.space, name: entry.name.text)
                if let known = known[key], now.timeIntervalSince(known.seen) < Self.refreshInterval {
                    found[key] = known.release
                } else {
                    missing[key] = (entry.name, entry.seen)
                }
            }
        }
        guard !missing.isEmpty else { return found }
        for (key, release) in try await store(missing, transaction) { found[key] = release }
        return found
    }

    /// Caches releases. Call it only after the commit, because rolled-back rows do not exist.
    func remember(_ releases: [Key: Release]) {
        let now = now()
        known.withLock { known in
            if known.count + releases.count > Self.maximumKnown { known.removeAll() }
            for (key, release) in releases
            where known[key] == nil || now.timeIntervalSince(known[key]?.seen ?? now) >= Self.refreshInterval {
                known[key] = Known(release: release, seen: now)
            }
        }
    }

    func forget() {
        known.withLock { $0.removeAll() }
    }

    private func store(_ missing: [Key: (name: ReleaseName, seen: Date)], _ transaction: PostgresTransaction)
        async throws -> [Key: Release]
    {
        let entries = missing.sorted { ($0.key.space, $0.key.name) < ($1.key.space, $1.key.name) }
        let rows = try await transaction.query(
            """
            INSERT INTO analytics.releases AS r (space, name, version, build, sort_key, first_seen, last_seen)
            SELECT q.space, q.name, q.version, q.build, nullif(q.sort_key, ''), to_timestamp(q.seen / 1e6), to_timestamp(q.seen / 1e6)
            FROM unnest(\(entries.map { Int($0.key.space) }), \(entries.map(\.key.name)), \(entries.map { $0.value.name.version }),
                \(entries.map { $0.value.name.build }), \(entries.map { $0.value.name.sortKey ?? "" }), \(entries.map { $0.value.seen.microseconds })
                ) AS q (space, name, version, build, sort_key, seen)
            WHERE EXISTS (SELECT FROM analytics.releases AS o WHERE o.space = q.space AND o.name = q.name)
                OR (SELECT count(*) FROM analytics.releases AS o WHERE o.space = q.space) < \(Self.maximumReleases)
            ON CONFLICT (space, name) DO UPDATE SET
                first_seen = least(r.first_seen, EXCLUDED.first_seen), last_seen = greatest(r.last_seen, EXCLUDED.last_seen)
            RETURNING r.id, r.space, r.name, r.sort_key, r.first_seen
            """)
        var releases: [Key: Release] = [:]
        for row in rows {
            let name: String = try row.decode(2)
            releases[Key(space: try row.decode(1), name: name)] = Release(
                id: try row.decode(0), name: name, sortKey: try row.decode(3), firstSeen: try row.decode(4))
        }
        return releases
    }
}

extension Date {
    /// Microseconds since 1970, in which times are passed to PostgreSQL in arrays.
    var microseconds: Int { Int(timeIntervalSince1970 * 1e6) }

    /// Days since 1970 in UTC.
    var day: Int { Int((timeIntervalSince1970 / 86_400).rounded(.down)) }
}
