import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs
import NIOCore

/// The job of an export: gathers the data of every service into one JSON Lines file for download.
struct ExportUser: JobHandler {
    static let kind = "users.export"
    static let retries = JobRetries(maximumAttempts: 20, firstDelay: .seconds(1), maximumDelay: .seconds(300))

    struct Report: Codable, Sendable {
        var sizeInBytes: Int
    }

    let parts: [UserDataPart]
    let exports: ExportStore
    let limitInBytes: Int

    func run(_ subject: UserDataSubject, _ job: RunningJob) async throws -> Report {
        try await exports.spool.deleteFiles(of: job.id)
        var file = try await exports.spool.write(contentType: "application/jsonl", name: "export.jsonl", job: job.id)
        for (number, part) in parts.enumerated() {
            try await job.report(JobProgress(done: number, total: parts.count, message: part.name), isImportant: true)
            var position: String?
            repeat {
                try job.check()
                let portion = try await part.holder.export(subject.request(after: position))
                guard portion.next == nil || portion.next != position else {
                    throw UserDataFailure.noProgress(part.name)
                }
                guard file.sizeInBytes + portion.lines.readableBytes <= limitInBytes else {
                    try await exports.spool.deleteFiles(of: job.id)
                    throw JobFailure(
                        code: ErrorCode.limitExceeded.rawValue,
                        detail: "The export would be larger than \(limitInBytes) bytes."
                    )
                }
                try await file.write(portion.lines)
                position = portion.next
            } while position != nil
        }
        try await file.finish()
        return Report(sizeInBytes: file.sizeInBytes)
    }
}
