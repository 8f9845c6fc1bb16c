public import Foundation
public import MartletPostgres
import Synchronization

/// The handler's view of its job: identity, progress reports and interruption.
public final class RunningJob: Sendable {
    /// The shortest interval between two writes of progress.
    private static let reportInterval: Duration = .milliseconds(500)

    private struct State {
        var lastReport: ContinuousClock.Instant?
        var interruption: JobInterruption?
        /// Whether the handler has asked how the job ends.
        var isDecided = false
        var isFinished = false
    }

    let claim: ClaimedJob
    let interruptions: AsyncStream<JobInterruption>
    private let queue: JobQueue
    private let interrupter: AsyncStream<JobInterruption>.Continuation
    private let state = Mutex(State())

    init(_ claim: ClaimedJob, queue: JobQueue) {
        self.claim = claim
        self.queue = queue
        (interruptions, interrupter) = AsyncStream.makeStream(
            of: JobInterruption.self, bufferingPolicy: .bufferingOldest(1))
    }

    public var id: UUID { claim.id }
    public var scope: String { claim.scope }
    /// The attempt number, from 1.
    public var attempt: Int { claim.attempt }
    public var isLastAttempt: Bool { claim.attempt >= claim.maximumAttempts }

    /// Why the job must stop; nil while it may continue. Set before the handler's task is cancelled.
    public var interruption: JobInterruption? { state.withLock { $0.interruption } }

    /// Whether the job ends for good if its handler throws this error now. Otherwise the handler runs again, here or in
    /// another worker, so it must leave what it needs then.
    ///
    /// Throw the error after asking: of later interruptions, only the loss of the lease has an effect. A job that is to
    /// run again can still be cancelled while it waits.
    public func isOver(after error: any Error) -> Bool {
        let interruption = state.withLock { state in
            state.isDecided = true
            return state.interruption
        }
        switch interruption {
        case .cancelled?: return true
        case .shutdown?, .leaseLost?: return false
        case .timeLimit?: return isLastAttempt
        case nil: break
        }
        if error is JobPostponement { return false }
        return isLastAttempt || (error as? JobFailure)?.isFinal == true
    }

    /// Reports progress. Cheap to call often: reports that follow too quickly are dropped, unless `isImportant` is set.
    ///
    /// - Throws: `JobInterruption` when the job was cancelled or its lease was lost.
    public func report(_ progress: JobProgress, isImportant: Bool = false) async throws {
        try check()
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            if let last = state.lastReport, now - last < Self.reportInterval, !isImportant { return false }
            state.lastReport = now
            return true
        }
        guard isDue else { return }
        switch try await queue.report(progress, claim) {
        case nil: throw stop(.leaseLost)
        case true?: throw stop(.cancelled)
        case false?: return
        }
    }

    /// - Throws: `JobInterruption`, or `CancellationError` when the task is cancelled.
    public func check() throws {
        if let interruption = state.withLock({ $0.interruption }) { throw interruption }
        try Task.checkCancellation()
    }

    /// Marks the job as done within a transaction, so that the transaction's effects happen exactly once. The
    /// transaction must currently use the service's own role. Call it last, because it locks the job's row, and return
    /// the same result from the handler.
    ///
    /// - Throws: `JobInterruption.leaseLost`. Let it abort the transaction.
    public func finish(_ result: some Encodable & Sendable, in transaction: PostgresTransaction) async throws {
        try check()
        let json = PostgresJSON(Array(try JSONEncoder.ofResults.encode(result)))
        guard try await transaction.execute(queue.completion(claim, json)) == 1 else { throw stop(.leaseLost) }
        state.withLock { $0.isFinished = true }
    }

    /// Whether the handler itself wrote the completion. Whether that was committed is unknown here.
    var isFinishedByHandler: Bool { state.withLock { $0.isFinished } }

    private func stop(_ reason: JobInterruption) -> JobInterruption {
        interrupt(reason)
        return reason
    }

    func interrupt(_ reason: JobInterruption) {
        let isFirst = state.withLock { state in
            guard state.interruption == nil, !state.isDecided || reason == .leaseLost else { return false }
            state.interruption = reason
            return true
        }
        if isFirst { interrupter.yield(reason) }
    }
}

extension JSONEncoder {
    static var ofResults: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}
