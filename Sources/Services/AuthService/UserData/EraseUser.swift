import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs

/// The job of a deletion: asks every service to erase what it has, slice by slice, then deletes the account.
///
/// Where it is stands in the receipt, so that a further run goes on there. It is never given up, and cannot be
/// cancelled.
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
        let known = try await deletions.places(of: parameters.receipt)
        for (number, step) in steps.enumerated() {
            try await job.report(
                JobProgress(done: number, total: steps.count + 1, message: step.name), isImportant: true)
            // There, but nil: the step is done.
            if let place = known[step.name], place == nil { continue }
            try await step.erase(parameters.subject, from: known[step.name] ?? nil, job) { slice in
                try await deletions.note(slice, by: step.name, on: parameters.receipt)
            }
        }
        try await deletions.finish(parameters, job)
        return JobNoResult()
    }
}

/// The same once more when no access token of the user is good any more, with which something may have been written
/// meanwhile.
struct EraseUserAgain: JobHandler {
    static let kind = "users.erase-again"
    static let retries = EraseUser.retries
    /// The lifetime of an access token and what clocks may differ by.
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
    /// Calls `note` with each slice.
    fileprivate func erase(
        _ subject: UserDataSubject, from place: String?, _ job: RunningJob, _ note: (UserErasure) async throws -> Void
    ) async throws {
        var place = place
        repeat {
            try job.check()
            let slice = try await holder.erase(subject.request(after: place))
            guard slice.next == nil || slice.next != place else { throw UserDataFailure.standstill(name) }
            try await note(slice)
            place = slice.next
        } while place != nil
    }
}

enum UserDataFailure: Error {
    /// A service answers that it goes on where it was asked to go on.
    case standstill(String)
}
