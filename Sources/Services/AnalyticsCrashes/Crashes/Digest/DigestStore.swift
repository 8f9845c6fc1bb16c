import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// Stores the contents of envelopes. A batch is one transaction that also advances the spool's read position, so that a
/// crash neither duplicates nor loses anything.
struct DigestStore: Sendable {
    /// The read position of a spool before and after a batch.
    struct Move: Sendable {
        var spool: UUID
        var from: SpoolPosition
        var to: SpoolPosition
    }

    /// The position was changed by another process, or by a commit whose result was lost.
    struct Moved: Error {}

    /// A report with the release and the issue that it was assigned to.
    struct Placed: Sendable {
        var report: DigestedReport
        var release: Release?
        var issue: Int64
    }

    let postgres: PostgresClient
    let releases: ReleaseStore
    let helpers: CrashHelpers
    let now: @Sendable () -> Date

    func position(of spool: UUID) async throws -> SpoolPosition {
        let rows = try await postgres.query("SELECT segment, position FROM analytics.crash_spools WHERE id = \(spool)")
        return try rows.first.map { SpoolPosition(segment: try $0.decode(0), offset: try $0.decode(1)) } ?? .start
    }

    func forget(_ spool: UUID) async throws {
        try await postgres.execute("DELETE FROM analytics.crash_spools WHERE id = \(spool)")
    }

    /// - Throws: `Moved`, `PostgresError`; nothing is stored then.
    func store(_ envelopes: [DigestedEnvelope], moving move: Move?) async throws {
        let known = try await postgres.withTransaction(serializationRetries: 3) { transaction in
            try await IssueStore.lock(Set(envelopes.map(\.space.id)), transaction)
            if let move { try await self.move(move, transaction) }
            let reports = try await newReports(envelopes.compactMap(\.report), transaction)
            let known = try await releases.releases(Self.names(envelopes, reports), transaction)
            if !reports.isEmpty { try await store(reports, known, transaction) }
            try await SessionStore(transaction: transaction).store(envelopes, known)
            try await count(envelopes, transaction)
            try await store(feedback: envelopes, transaction)
            try await store(attachments: envelopes, transaction)
            return known
        }
        releases.remember(known)
    }

    private func move(_ move: Move, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "INSERT INTO analytics.crash_spools (id, segment, position, updated) VALUES (\(move.spool), 0, 0, now()) ON CONFLICT (id) DO NOTHING"
        )
        let changed = try await transaction.execute(
            """
            UPDATE analytics.crash_spools SET segment = \(move.to.segment), position = \(move.to.offset), updated = now()
            WHERE id = \(move.spool) AND segment = \(move.from.segment) AND position = \(move.from.offset)
            """)
        guard changed == 1 else { throw Moved() }
    }

    private struct EventKey: Hashable {
        var space: Int32
        var id: UUID
    }

    /// The reports not yet stored, without duplicates.
    private func newReports(_ reports: [DigestedReport], _ transaction: PostgresTransaction) async throws
        -> [DigestedReport]
    {
        guard !reports.isEmpty else { return [] }
        let rows = try await transaction.query(
            """
            SELECT e.space, e.event_id FROM unnest(\(reports.map { Int($0.space.id) }), \(reports.map(\.eventID))) AS q (space, event_id)
            JOIN analytics.crash_events AS e ON e.space = q.space AND e.event_id = q.event_id
            """)
        var seen = Set(try rows.map { EventKey(space: try $0.decode(0), id: try $0.decode(1)) })
        return reports.filter { seen.insert(EventKey(space: $0.space.id, id: $0.eventID)).inserted }
    }

    private static func names(_ envelopes: [DigestedEnvelope], _ reports: [DigestedReport]) -> [(
        space: Int32, name: ReleaseName, seen: Date
    )] {
        var names: [(space: Int32, name: ReleaseName, seen: Date)] = []
        for report in reports {
            if let release = report.release { names.append((report.space.id, release, report.at)) }
        }
        for envelope in envelopes {
            for update in envelope.updates {
                names.append((envelope.space.id, ReleaseName(update.attributes.release), update.started))
            }
            for counts in envelope.counts {
                names.append((envelope.space.id, ReleaseName(counts.attributes.release), counts.started))
            }
        }
        return names
    }

    /// Finds or creates the issues of new reports, stores the reports and counts them.
    private func store(
        _ reports: [DigestedReport], _ known: [ReleaseStore.Key: Release], _ transaction: PostgresTransaction
    ) async throws {
        let placed = try await place(reports, known, transaction)
        let reports = ReportStore(transaction: transaction)
        let locked = try await IssueStore.locked(Set(placed.map(\.issue)), transaction)
        try await reports.insert(placed)
        try await IssueCounts(transaction: transaction).add(placed, to: locked, now: now())
        try await helpers.record(placed.map(\.report.waiting), transaction)
        let spaces = Dictionary(grouping: placed.map(\.report), by: \.space).sorted { $0.key.id < $1.key.id }
        for (space, reports) in spaces { try await helpers.linkFeedback(reports.map(\.eventID), space, transaction) }
    }

    /// Assigns each report to the issue that has one of its hashes, or to a new one.
    func place(_ reports: [DigestedReport], _ known: [ReleaseStore.Key: Release], _ transaction: PostgresTransaction)
        async throws -> [Placed]
    {
        var reports = reports
        var issues = try await IssueStore.issues(of: Self.keys(reports), transaction)
        try await overflow(&reports, &issues, transaction)
        var (placed, hashes) = ([Placed](), [(key: IssueStore.Key, issue: Int64)]())
        // New issues have negative numbers until they are created.
        var new: [(report: DigestedReport, release: Release?)] = []
        for report in reports {
            let release = report.release.flatMap { known[ReleaseStore.Key(space: report.space.id, name: $0.text)] }
            let (app, system) = (report.key(report.grouping.appHash), report.key(report.grouping.systemHash))
            let issue: Int64
            if let found = issues[app] ?? issues[system] {
                issue = found
            } else {
                new.append((report, release))
                issue = -Int64(new.count)
                // Only the system hash of the first report is added. Otherwise an issue would collect a hash for every
                // system on which it occurs.
                hashes.append((system, issue))
                issues[system] = issue
            }
            if issues[app] == nil { hashes.append((app, issue)) }
            issues[app] = issue
            placed.append(Placed(report: report, release: release, issue: issue))
        }
        let created = try await IssueStore.create(new, transaction)
        func id(_ issue: Int64) -> Int64 { issue < 0 ? created[Int(-issue) - 1] : issue }
        for index in placed.indices { placed[index].issue = id(placed[index].issue) }
        try await IssueStore.add(hashes.map { ($0.key, id($0.issue)) }, transaction)
        return placed
    }

    private static func keys(_ reports: [DigestedReport]) -> Set<IssueStore.Key> {
        Set(reports.flatMap { [$0.key($0.grouping.appHash), $0.key($0.grouping.systemHash)] })
    }

    /// If a space has reached its maximum of issues, reports that would create another are added to a common one.
    private func overflow(
        _ reports: inout [DigestedReport], _ issues: inout [IssueStore.Key: Int64], _ transaction: PostgresTransaction
    ) async throws {
        let missing = Dictionary(
            grouping: reports.indices.filter { index in Self.keys([reports[index]]).allSatisfy { issues[$0] == nil } }
        ) { reports[$0].space.id }
        for (space, indices) in missing.sorted(by: { $0.key < $1.key }) {
            let needed = Set(indices.map { reports[$0].grouping.appHash }).count
            guard try await IssueStore.remaining(in: space, transaction) < needed else { continue }
            for index in indices { reports[index].grouping = reports[index].grouping.overflowing }
            issues.merge(
                try await IssueStore.issues(
                    of: [IssueStore.Key(space: space, hash: Grouping.overflowHash)], transaction)
            ) { $1 }
        }
    }
}

extension DigestedReport {
    func key(_ hash: String) -> IssueStore.Key { IssueStore.Key(space: space.id, hash: hash) }

    var waiting: AwaitedSymbols.Report { AwaitedSymbols.Report(id: eventID, space: space.id, debugIDs: awaited) }
}
