public import Foundation
public import MartletPostgres
import Synchronization

/// The job that a handler works on: who asked, how far it is, whether it may go on.
public final class RunningJob: Sendable {
    /// Progress is written this often at most.
    private static let reportInterval: Duration = .milliseconds(500)

    private struct State {
        var lastReport: ContinuousClock.Instant?
        var interruption: JobInterruption?
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
    /// From 1.
    public var attempt: Int { claim.attempt }
    public var isLastAttempt: Bool { claim.attempt >= claim.maximumAttempts }

    /// Why the job must end, if it must.
    public var interruption: JobInterruption? { state.withLock { $0.interruption } }

    /// Tells how far the job is. Cheap: what comes too often is left out, unless it has `isImportant`.
    ///
    /// - Throws: `JobInterruption` when the job was cancelled or the lease is lost.
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

    /// Marks the job done as part of a transaction, which must have the service's own role at this moment: what the
    /// transaction does takes place exactly once. Call it last, as the job's row is locked from then on, and return the
    /// same result.
    ///
    /// - Throws: `JobInterruption.leaseLost`: let the transaction fail by it.
    public func finish(_ result: some Encodable & Sendable, in transaction: PostgresTransaction) async throws {
        try check()
        let json = PostgresJSON(Array(try JSONEncoder.ofResults.encode(result)))
        guard try await transaction.execute(queue.completion(claim, json)) == 1 else { throw JobInterruption.leaseLost }
        state.withLock { $0.isFinished = true }
    }

    /// Whether the handler has written the end itself; whether that was committed is not known here.
    var isFinishedByHandler: Bool { state.withLock { $0.isFinished } }

    private func stop(_ reason: JobInterruption) -> JobInterruption {
        interrupt(reason)
        return reason
    }

    func interrupt(_ reason: JobInterruption) {
        let isFirst = state.withLock { state in
            guard state.interruption == nil else { return false }
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
