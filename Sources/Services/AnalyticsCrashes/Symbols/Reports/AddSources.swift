import Foundation
import MartletAPI
import MartletJobs
import MartletPostgres

/// Adds source lines from a new source bundle to the newest reports. Reports do not wait for sources, so they must be
/// searched.
struct AddSources: JobHandler {
    struct Parameters: Codable {
        var app: String
        var debugID: String
    }

    static let kind = "symbols.sources"
    static let timeLimit: Duration = .seconds(3_600)
    /// Limits per space: the issues last seen, and the newest reports of each.
    static let (maximumIssues, reportsPerIssue) = (200, 5)
    private static let batchLength = 100

    let postgres: PostgresClient
    let spaces: Spaces
    let rerun: SymbolicateAgain.Rerun

    static func enqueue(_ debugID: DebugID, of appID: String, _ queue: JobQueue, _ transaction: PostgresTransaction)
        async throws
    {
        // One at a time, because there may be a bundle for each of an app's libraries.
        let options = JobOptions(scope: appID, lane: kind, uniqueKey: appID + " " + debugID.description)
        try await queue.enqueue(
            Self.self, Parameters(app: appID, debugID: debugID.description), options, in: transaction)
    }

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        for environment in AppEnvironment.allCases {
            let space = try await spaces.space(of: parameters.app, environment)
            let reports = try await reports(with: parameters.debugID, in: space)
            for start in stride(from: 0, to: reports.count, by: Self.batchLength) {
                try job.check()
                try await rerun(Array(reports[start..<min(start + Self.batchLength, reports.count)]), space)
            }
        }
        return JobNoResult()
    }

    private func reports(with debugID: String, in space: Space) async throws -> [UUID] {
        try await postgres.query(
            """
            SELECT e.event_id FROM (
                SELECT id FROM analytics.issues WHERE space = \(space.id) AND deleted IS NULL ORDER BY last_seen DESC, id DESC LIMIT \(Self.maximumIssues)) AS i
            CROSS JOIN LATERAL (
                SELECT event_id, content #> '{debug_meta,images}' AS images FROM analytics.crash_events
                WHERE issue = i.id ORDER BY received DESC, id DESC LIMIT \(Self.reportsPerIssue)) AS e
            WHERE EXISTS (
                SELECT FROM jsonb_array_elements(CASE jsonb_typeof(e.images) WHEN 'array' THEN e.images ELSE '[]' END) AS m
                WHERE starts_with(lower(replace(coalesce(m ->> 'debug_id', m ->> 'uuid', ''), '-', '')), \(debugID.replacing("-", with: ""))))
            """, timeout: .seconds(25)
        ).map { try $0.decode(0) }
    }
}
