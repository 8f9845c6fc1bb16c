import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs

/// The job of a deletion: calls every service to erase its data slice by slice, then deletes the account.
///
/// The receipt records the progress, so that another run continues from there. The job is retried without limit and
/// cannot be cancelled.
struct EraseUser: JobHandler {
    static let kind = "users.erase"
    static let retries = JobRetries(
        maximumAttempts: Int(Int32.max), firstDelay: .seconds(1), maximumDelay: .seconds(300))

    struct Parameters: Codable, Sendable {
        var subject: UserDataSubject
        var receipt: UUID
    }

    let steps: [UserDataPart]
    let deletions: DeletionStore

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        let positions = try await deletions.positions(of: parameters.receipt)
        for (number, step) in steps.enumerated() {
            try await job.report(
                JobProgress(done: number, total: steps.count + 1, message: step.name), isImportant: true)
            // Present with the value nil: the step is complete.
            if let position = positions[step.name], position == nil { continue }
            try await step.erase(parameters.subject, from: positions[step.name] ?? nil, job) { slice in
                try await deletions.record(slice, by: step.name, on: parameters.receipt)
            }
        }
        try await deletions.finish(parameters, job)
        return JobNoResult()
    }
}

/// Erases once more after all access tokens of the user have expired, because clients may have written data with these
/// tokens in the meantime.
struct EraseUserAgain: JobHandler {
    static let kind = "users.erase-again"
    static let retries = EraseUser.retries
    /// The lifetime of an access token plus the tolerated clock difference.
    static let delay: Duration = .seconds(1_200)

    let steps: [UserDataPart]
    let deletions: DeletionStore

    func run(_ parameters: EraseUser.Parameters, _ job: RunningJob) async throws -> JobNoResult {
        for step in steps {
            try await step.erase(parameters.subject, from: nil, job) { slice in
                try await deletions.add(slice.erased, of: step.name, to: parameters.receipt)
            }
        }
        return JobNoResult()
    }
}

extension UserDataPart {
    /// Erases all slices, calling `record` after each.
    fileprivate func erase(
        _ subject: UserDataSubject, from position: String?, _ job: RunningJob,
        _ record: (UserErasure) async throws -> Void
    ) async throws {
        var position = position
        repeat {
            try job.check()
            let slice = try await holder.erase(subject.request(after: position))
            guard slice.next == nil || slice.next != position else { throw UserDataFailure.noProgress(name) }
            try await record(slice)
            position = slice.next
        } while position != nil
    }
}

enum UserDataFailure: Error {
    /// A service returned the same position from which it should have continued.
    case noProgress(String)
}
