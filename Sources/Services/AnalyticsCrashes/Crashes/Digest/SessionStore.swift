import AnalyticsShared
import Foundation
import MartletPostgres
import MartletSentry

/// Counts sessions by release and day.
struct SessionStore: Sendable {
    /// What sessions are counted by.
    private struct CountKey: Hashable {
        var space: Int32
        var day: Int
        var release: Int32
        var stage: String
    }

    private struct Sums {
        var sessions = 0
        var errored = 0
        var crashed = 0
        var abnormal = 0

        /// Adds `count`, which may be negative, to a state.
        mutating func add(_ state: SessionState, _ count: Int = 1) {
            switch state {
            case .healthy: break
            case .errored: errored += count
            case .abnormal: abnormal += count
            case .crashed: crashed += count
            }
        }
    }

    private struct SessionKey: Hashable {
        var space: Int32
        var id: UUID
    }

    private struct User: Hashable {
        var count: CountKey
        var person: Int64
    }

    let transaction: PostgresTransaction

    func store(_ envelopes: [DigestedEnvelope], _ releases: [ReleaseStore.Key: Release]) async throws {
        var (sums, persons) = ([CountKey: Sums](), [User: Bool]())
        func countKey(_ envelope: DigestedEnvelope, _ attributes: SessionAttributes, _ started: Date) -> CountKey? {
            let release = releases[ReleaseStore.Key(space: envelope.space.id, name: attributes.release)]
            return release.map {
                CountKey(space: envelope.space.id, day: started.day, release: $0.id, stage: attributes.stage)
            }
        }
        func addPerson(_ person: String?, _ hasCrashed: Bool, _ count: CountKey, _ space: Space) {
            guard let person else { return }
            let user = User(count: count, person: Person.account(person, in: space))
            persons[user] = persons[user] ?? false || hasCrashed
        }
        let before = try await self.states(envelopes)
        var states = before
        for envelope in envelopes {
            for counts in envelope.counts where counts.total > 0 {
                guard let key = countKey(envelope, counts.attributes, counts.started) else { continue }
                sums[key, default: Sums()].sessions += counts.total
                sums[key]?.errored += counts.errored
                sums[key]?.crashed += counts.crashed
                sums[key]?.abnormal += counts.abnormal
                addPerson(counts.person, counts.crashed > 0, key, envelope.space)
            }
            for update in envelope.updates {
                guard let key = countKey(envelope, update.attributes, update.started) else { continue }
                let session = SessionKey(space: envelope.space.id, id: update.id)
                addPerson(update.person, update.state == .crashed, key, envelope.space)
                if let old = states[session] {
                    guard update.state > old else { continue }
                    sums[key, default: Sums()].add(old, -1)
                } else {
                    sums[key, default: Sums()].sessions += 1
                }
                sums[key, default: Sums()].add(update.state)
                states[session] = update.state
            }
        }
        try await add(sums)
        try await add(persons)
        try await store(states.filter { before[$0.key] != $0.value })
    }

    /// The states of sessions that were counted before.
    private func states(_ envelopes: [DigestedEnvelope]) async throws -> [SessionKey: SessionState] {
        let keys = Set(
            envelopes.flatMap { envelope in envelope.updates.map { SessionKey(space: envelope.space.id, id: $0.id) } }
        ).map { $0 }
        guard !keys.isEmpty else { return [:] }
        let rows = try await transaction.query(
            """
            SELECT s.space, s.sid, s.state FROM unnest(\(keys.map { Int($0.space) }), \(keys.map(\.id))) AS q (space, sid)
            JOIN analytics.crash_session_states AS s ON s.space = q.space AND s.sid = q.sid
            """)
        var states: [SessionKey: SessionState] = [:]
        for row in rows {
            states[SessionKey(space: try row.decode(0), id: try row.decode(1))] =
                SessionState(rawValue: try row.decode(2)) ?? .healthy
        }
        return states
    }

    private func store(_ states: [SessionKey: SessionState]) async throws {
        guard !states.isEmpty else { return }
        let keys = states.keys.sorted { ($0.space, $0.id.uuidString) < ($1.space, $1.id.uuidString) }
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_session_states AS s (space, sid, state, updated)
            SELECT q.space, q.sid, q.state, now()
            FROM unnest(\(keys.map { Int($0.space) }), \(keys.map(\.id)), \(keys.map { states[$0]?.rawValue ?? 0 })) AS q (space, sid, state)
            ON CONFLICT (space, sid) DO UPDATE SET state = EXCLUDED.state, updated = EXCLUDED.updated
            """)
    }

    private func add(_ sums: [CountKey: Sums]) async throws {
        guard !sums.isEmpty else { return }
        let keys = Self.sorted(Array(sums.keys))
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_sessions AS s (space, day, release, stage, sessions, errored, crashed, abnormal)
            SELECT q.space, date '1970-01-01' + q.day::integer, q.release, q.stage, q.sessions, q.errored, q.crashed, q.abnormal
            FROM unnest(\(keys.map { Int($0.space) }), \(keys.map(\.day)), \(keys.map { Int($0.release) }), \(keys.map(\.stage)),
                \(keys.map { sums[$0]?.sessions ?? 0 }), \(keys.map { sums[$0]?.errored ?? 0 }), \(keys.map { sums[$0]?.crashed ?? 0 }),
                \(keys.map { sums[$0]?.abnormal ?? 0 })) AS q (space, day, release, stage, sessions, errored, crashed, abnormal)
            ON CONFLICT (space, day, release, stage) DO UPDATE SET sessions = s.sessions + EXCLUDED.sessions, errored = s.errored + EXCLUDED.errored,
                crashed = s.crashed + EXCLUDED.crashed, abnormal = s.abnormal + EXCLUDED.abnormal
            """)
    }

    private func add(_ persons: [User: Bool]) async throws {
        guard !persons.isEmpty else { return }
        let keys = Array(persons.keys)
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_session_users AS u (space, day, release, stage, person, crashed)
            SELECT q.space, date '1970-01-01' + q.day::integer, q.release, q.stage, q.person, q.crashed = 1
            FROM unnest(\(keys.map { Int($0.count.space) }), \(keys.map(\.count.day)),
                \(keys.map { Int($0.count.release) }), \(keys.map(\.count.stage)),
                \(keys.map { Int($0.person) }), \(keys.map { persons[$0] == true ? 1 : 0 })) AS q (space, day, release, stage, person, crashed)
            ON CONFLICT (space, day, release, stage, person) DO UPDATE SET crashed = TRUE WHERE EXCLUDED.crashed AND NOT u.crashed
            """)
    }

    private static func sorted(_ keys: [CountKey]) -> [CountKey] {
        keys.sorted { ($0.space, $0.day, $0.release, $0.stage) < ($1.space, $1.day, $1.release, $1.stage) }
    }
}
