import Foundation
import MartletAPI
import MartletJobs
import NIOCore

/// The job of an export: writes the file to the spool, where it is available for as long as the job is kept.
struct ExportCollection: JobHandler {
    static let kind = "export"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(4 * 3_600)

    struct Options: Codable, Sendable {
        var space: SpaceName
        var collection: String
        var format: TransferFormat
        var areHeadersTyped: Bool
    }

    struct Report: Codable, Sendable {
        var collection: String
        var format: TransferFormat
        var objects: Int
        var sizeInBytes: Int
    }

    let transfers: TransferStores

    func run(_ options: Options, _ job: RunningJob) async throws -> Report {
        let export = CollectionExport(
            format: options.format, areHeadersTyped: options.areHeadersTyped,
            collection: try CollectionName(options.collection),
            space: try options.space.space)
        try await transfers.spool.deleteFiles(of: job.id)
        var file = try await transfers.spool.write(
            contentType: options.format.contentType, name: export.fileName, job: job.id)
        let objects: Int
        do {
            objects = try await export.run(on: transfers.postgres) { done in
                try await job.report(JobProgress(done: done, message: "writing"))
            } _: { piece in
                try await file.write(piece)
            }
        } catch let fault as FileFault {
            throw JobFailure(code: ErrorCode.limitExceeded.rawValue, detail: fault.reason)
        }
        try await file.finish()
        return Report(
            collection: options.collection, format: options.format, objects: objects, sizeInBytes: file.sizeInBytes)
    }
}
