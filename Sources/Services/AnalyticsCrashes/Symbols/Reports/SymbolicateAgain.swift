import Foundation
import MartletAPI
import MartletJobs
import MartletPostgres

/// Symbolicates the reports again that wait for a debug id that has arrived.
struct SymbolicateAgain: JobHandler {
    /// Processes up to 100 reports again; ids of deleted reports are ignored.
    typealias Rerun = @Sendable (_ reports: [UUID], _ space: Space) async throws -> Void

    struct Parameters: Codable {
        var app: String
        var debugID: String
    }

    static let kind = "symbols.rerun"
    static let timeLimit: Duration = .seconds(3_600)
    private static let batchLength = 100

    let postgres: PostgresClient
    let rerun: Rerun

    static func enqueue(_ debugID: DebugID, of appID: String, _ queue: JobQueue, _ transaction: PostgresTransaction)
        async throws
    {
        let (parameters, options) = job(debugID.description, of: appID)
        try await queue.enqueue(Self.self, parameters, options, in: transaction)
    }

    /// Enqueues jobs for reports that still wait although their file has arrived. Such a report was recorded while the
    /// file was arriving, or its time limit ended before the file could be queried.
    static func enqueueForgotten(_ postgres: PostgresClient, _ queue: JobQueue) async throws {
        let rows = try await postgres.query(
            """
            SELECT DISTINCT f.app_id, d.debug_id FROM analytics.symbol_files AS f
            JOIN analytics.debug_files AS d ON d.file = f.id JOIN analytics.spaces AS s ON s.app_id = f.app_id
            WHERE f.state = 'ok' AND f.changed > now() - interval '30 days' AND d.has_debug_information AND d.failures < \(Int16(StoredPart.maximumFailures))
                AND EXISTS (SELECT FROM analytics.awaited_symbols AS a WHERE a.space = s.id AND a.debug_id = d.debug_id)
            LIMIT 100
            """)
        for row in rows {
            let (parameters, options) = job(try row.decode(1), of: try row.decode(0))
            try await queue.enqueue(Self.self, parameters, options)
        }
    }

    private static func job(_ debugID: String, of appID: String) -> (Parameters, JobOptions) {
        (Parameters(app: appID, debugID: debugID), JobOptions(scope: appID, uniqueKey: appID + " " + debugID))
    }

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        try await rerunAll(parameters.debugID, of: parameters.app) { try job.check() }
        return JobNoResult()
    }

    /// Processes all reports of an app that wait for a debug id, in both environments.
    ///
    /// - Parameter check: Throws if the work must stop.
    func rerunAll(_ debugID: String, of appID: String, _ check: () throws -> Void) async throws {
        let rows = try await postgres.query("SELECT id, environment FROM analytics.spaces WHERE app_id = \(appID)")
        for row in rows {
            guard let environment = AppEnvironment(rawValue: try row.decode(1)) else { continue }
            try await rerunAll(
                debugID, in: Space(id: try row.decode(0), appID: appID, environment: environment), check)
        }
    }

    private func rerunAll(_ debugID: String, in space: Space, _ check: () throws -> Void) async throws {
        var last: UUID?
        while true {
            try check()
            let cursorCondition: PostgresQuery = last.map { "AND event > \($0)" } ?? ""
            let reports: [UUID] = try await postgres.query(
                """
                SELECT event FROM analytics.awaited_symbols WHERE space = \(space.id) AND debug_id = \(debugID) \(cursorCondition)
                ORDER BY event LIMIT \(Self.batchLength)
                """
            ).map { try $0.decode(0) }
            guard !reports.isEmpty else { return }
            // Each report is processed once, whatever the result: what is still missing is recorded under another debug
            // id. If the file has no debug information, the reports continue to wait.
            let isLast: Bool = try await postgres.query(
                """
                SELECT coalesce(bool_or(has_debug_information), TRUE) FROM analytics.debug_files
                WHERE app_id = \(space.appID) AND debug_id = \(debugID) AND kind <> 'sources'
                """)[0].decode(0)
            try await rerun(reports, space)
            if isLast {
                try await postgres.execute(
                    "DELETE FROM analytics.awaited_symbols WHERE space = \(space.id) AND debug_id = \(debugID) AND event = ANY (\(reports))"
                )
            }
            last = reports.last
        }
    }
}
