import Foundation
import MartletPostgres

/// The debug files that reports wait for; when one arrives, the reports are symbolicated again.
struct AwaitedSymbols: Sendable {
    struct Report: Sendable {
        var id: UUID
        var space: Int32
        var debugIDs: [String]
    }

    /// The maximum number of images recorded for a report.
    private static let maximumImages = 32
    private static let lifetimeInDays = 90

    let postgres: PostgresClient

    /// Records what reports wait for, in the transaction that stores them. Existing entries stay.
    func record(_ reports: [Report], _ transaction: PostgresTransaction) async throws {
        let all = reports.flatMap { report in
            report.debugIDs.prefix(Self.maximumImages).map { (report: report, debugID: $0) }
        }
        guard !all.isEmpty else { return }
        try await transaction.execute(
            """
            INSERT INTO analytics.awaited_symbols (space, debug_id, event)
            SELECT q.space, q.debug_id, q.event
            FROM unnest(\(all.map { Int($0.report.space) }), \(all.map(\.debugID)), \(all.map(\.report.id))) AS q (space, debug_id, event)
            ON CONFLICT DO NOTHING
            """)
    }

    /// The missing debug ids as JSON. The ids that most reports wait for come first.
    func list(in space: Space, limit: Int) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object('debugId', debug_id, 'reports', count(*))::text FROM analytics.awaited_symbols
            WHERE space = \(space.id) GROUP BY debug_id ORDER BY count(*) DESC, debug_id LIMIT \(limit)
            """
        ).map { try $0.decode(0) }
    }

    /// Deletes up to 10,000 expired entries: either the report is gone, or nobody has the symbols.
    func forgetOld() async throws {
        try await postgres.execute(
            """
            DELETE FROM analytics.awaited_symbols WHERE (space, debug_id, event) IN (
                SELECT space, debug_id, event FROM analytics.awaited_symbols
                WHERE noted < now() - make_interval(days => \(Int32(Self.lifetimeInDays))) LIMIT 10000)
            """)
    }
}
