import Foundation
import Logging
import MartletCore
import MartletPostgres
import MartletSentry

/// Processes stored reports again after missing debug symbols or sources have arrived.
struct Reprocessing: Sendable {
    static let maximumEvents = 100

    let postgres: PostgresClient
    let store: DigestStore
    let helpers: CrashHelpers
    let threads: DigestionThreads
    /// CPU time limit per report.
    let budget: Duration
    let logger: Logger
    /// Called when an issue is merged into another.
    var moveReferences: IssueMerging.MoveReferences = { _, _, _ in }

    /// Symbolicates and groups reports again, and moves them to another issue if the grouping has changed. Ids of
    /// deleted reports are skipped.
    ///
    /// - Throws: `PostgresError`; the reports before the failed one are done.
    func digestAgain(_ eventIDs: [UUID], in space: Space) async throws {
        for id in eventIDs.prefix(Self.maximumEvents) {
            let rows = try await postgres.query(
                "SELECT content, received, at FROM analytics.crash_events WHERE space = \(space.id) AND event_id = \(id)"
            )
            guard let row = rows.first else { continue }
            let content = try row.decode(0, as: [UInt8].self)
            let (received, at): (Date, Date) = (try row.decode(1), try row.decode(2))
            let report = try await withinBudget(id) { [helpers] () -> DigestedReport? in
                let symbolicated = await helpers.symbolicate(try JSONValue(parsing: content), space)
                guard let event = Event(symbolicated.report, id: id) else { return nil }
                return DigestedReport(
                    event, Grouping(event), at: at, received: received, space: space, awaited: symbolicated.awaited)
            }
            if let report { try await replace(report) }
        }
    }

    /// Adds source lines to the frames of reports; their issue does not change. A report that has changed meanwhile is
    /// left as it is.
    func addSources(to eventIDs: [UUID], in space: Space) async throws {
        for id in eventIDs.prefix(Self.maximumEvents) {
            let rows = try await postgres.query(
                "SELECT content, xmin::text FROM analytics.crash_events WHERE space = \(space.id) AND event_id = \(id)")
            guard let row = rows.first else { continue }
            let bytes = try row.decode(0, as: [UInt8].self)
            let new = try await withinBudget(id) { [helpers] () -> String? in
                let content = try JSONValue(parsing: bytes)
                let symbolicated = await helpers.symbolicate(content, space).report
                guard symbolicated != content, let event = Event(symbolicated, id: id) else { return nil }
                return event.content.withMembers(["martlet": content["martlet"]]).text
            }
            guard let new else { continue }
            try await postgres.execute(
                """
                UPDATE analytics.crash_events SET content = \(PostgresJSON(new))
                WHERE space = \(space.id) AND event_id = \(id) AND xmin::text = \(try row.decode(1, as: String.self))
                """)
        }
    }

    /// Runs work on the digestion threads. Nil if the work returned nil or exceeded the CPU budget; the report is then
    /// left as it is.
    private func withinBudget<Value: Sendable>(_ id: UUID, _ work: @escaping @Sendable () async throws -> Value?)
        async throws -> Value?
    {
        do {
            return try await threads.run(upTo: budget, work)
        } catch let error as DigestionThreads.OverBudget {
            logger.error(
                "Could not reprocess a crash report; keeping it as it is.",
                metadata: ["crash.event": "\(id)", "error.cause": "\(error)"])
            return nil
        }
    }

    private func replace(_ report: DigestedReport) async throws {
        let known = try await postgres.withTransaction(serializationRetries: 3) { transaction in
            try await IssueStore.lock([report.space.id], transaction)
            let names = report.release.map { [(space: report.space.id, name: $0, seen: report.at)] } ?? []
            let known = try await store.releases.releases(names, transaction)
            let rows = try await transaction.query(
                """
                SELECT e.issue FROM analytics.crash_events AS e JOIN analytics.issues AS i ON i.id = e.issue
                WHERE e.space = \(report.space.id) AND e.event_id = \(report.eventID) AND i.deleted IS NULL FOR UPDATE OF e
                """)
            guard let old = try rows.first?.decode(0, as: Int64.self) else { return known }
            let placed = try await place(report, known, old, transaction)
            try await write(placed, transaction)
            if placed.issue != old { try await move(placed, from: old, transaction) }
            try await helpers.record([report.waiting], transaction)
            return known
        }
        store.releases.remember(known)
    }

    /// Places a report that was grouped again. The report stays in its issue if no issue has the new hashes, and if its
    /// issue has no other report or no other hashes. The issue then gets the report's new title and hashes, so later
    /// reports of the same kind are added to it. Its state and history stay.
    private func place(
        _ report: DigestedReport, _ known: [ReleaseStore.Key: Release], _ old: Int64, _ transaction: PostgresTransaction
    ) async throws -> DigestStore.Placed {
        let keys: Set = [report.key(report.grouping.appHash), report.key(report.grouping.systemHash)]
        let issues = try await IssueStore.issues(of: keys, transaction)
        let isItsOwn =
            try await transaction.query(
                """
                SELECT i.events <= 1 OR NOT EXISTS (
                    SELECT FROM analytics.issue_hashes AS h WHERE h.issue = i.id AND h.hash NOT IN (e.app_hash, e.system_hash))
                FROM analytics.issues AS i, analytics.crash_events AS e
                WHERE i.id = \(old) AND e.space = \(report.space.id) AND e.event_id = \(report.eventID)
                """
            ).first?.decode(0, as: Bool.self) ?? false
        guard issues.isEmpty, isItsOwn else { return try await store.place([report], known, transaction)[0] }
        try await IssueStore.add(keys.map { (key: $0, issue: old) }, transaction)
        try await transaction.execute(
            "UPDATE analytics.issues SET title = \(report.grouping.title), culprit = \(report.grouping.culprit) WHERE id = \(old)"
        )
        return DigestStore.Placed(
            report: report,
            release: report.release.flatMap { known[ReleaseStore.Key(space: report.space.id, name: $0.text)] },
            issue: old)
    }

    private func write(_ placed: DigestStore.Placed, _ transaction: PostgresTransaction) async throws {
        let report = placed.report
        try await transaction.execute(
            """
            UPDATE analytics.crash_events SET issue = \(placed.issue), app_hash = decode(\(report.grouping.appHash), 'hex'),
                system_hash = decode(\(report.grouping.systemHash), 'hex'), algorithm = \(Int16(Grouping.version)), content = \(PostgresJSON(report.content))
            WHERE space = \(report.space.id) AND event_id = \(report.eventID)
            """)
    }

    private func move(_ placed: DigestStore.Placed, from old: Int64, _ transaction: PostgresTransaction) async throws {
        let locked = try await IssueStore.locked([placed.issue, old], transaction)
        try await IssueCounts(transaction: transaction).add([placed], to: locked, now: store.now())
        try await IssueCounts(transaction: transaction).remove(placed, from: old)
        // Later reports of the same build without symbols are added to the same issue as this report. An issue that
        // people have worked on stays, even without reports.
        let emptied = try await transaction.execute(
            """
            UPDATE analytics.issue_hashes SET issue = \(placed.issue)
            WHERE issue = \(old) AND NOT EXISTS (SELECT FROM analytics.crash_events WHERE issue = \(old))
            """)
        guard emptied > 0 else { return }
        let abandoned = try await transaction.query(
            """
            SELECT FROM analytics.issues WHERE id = \(old) AND events <= 0
                AND NOT EXISTS (SELECT FROM analytics.issue_history WHERE issue = \(old) AND author <> 'service')
            """)
        guard !abandoned.isEmpty else { return }
        // Redirect tickets, links by number and pending alerts to the other issue.
        try await moveReferences(old, placed.issue, transaction)
        for statement in IssueMerging.redirections(of: [Int(old)], to: placed.issue) {
            try await transaction.execute(statement)
        }
        try await transaction.execute("DELETE FROM analytics.issues WHERE id = \(old)")
    }
}
