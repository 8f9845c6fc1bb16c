import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletSchema

/// The job that checks the objects of a large collection and sets its schema (`SchemaStore.set`).
struct CheckSchema: JobHandler {
    static let kind = "schema"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(4 * 3_600)

    struct Options: Codable, Sendable {
        var space: SpaceName
        var collection: String
        var schema: String
        var allowExisting: Bool
    }

    let schemas: SchemaStore

    func run(_ options: Options, _ job: RunningJob) async throws -> SchemaReport {
        let schema: JSONSchema
        do {
            schema = try JSONSchema(parsing: options.schema.utf8)
        } catch {
            throw JobFailure(code: ErrorCode.documentRefused.rawValue, detail: error.message)
        }
        do {
            return try await schemas.set(
                schema, on: CollectionName(options.collection), of: options.space.space,
                allowingExisting: options.allowExisting,
                report: { try await job.report(JobProgress(done: $0, total: nil, message: "checking")) },
                finish: { try await job.finish($1, in: $0) })
        } catch let refusal as SchemaReport.Refusal {
            throw JobFailure(
                code: ErrorCode.conflict.rawValue, detail: refusal.detail,
                report: try Array(JSONEncoder().encode(refusal.report)))
        }
    }
}
