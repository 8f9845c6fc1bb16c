import Foundation
public import Logging
import MartletBackground
import MartletPostgres
public import ServiceLifecycle
import Synchronization

/// Runs the jobs of a queue. Any number of workers, in any number of processes, can share one queue.
///
/// A worker owns a job while it renews the lease, three times per lease duration. A worker that cannot renew stops the
/// job itself, before another worker may claim it. At a graceful shutdown, running jobs have `shutdownGrace` to finish.
/// After that they are cancelled and released, so another instance takes over at once.
public final class JobWorker: Service {
    public struct Configuration: Sendable {
        /// The number of jobs run at once.
        public var concurrency = 4
        /// How long the job of a dead process stays claimed.
        public var lease: Duration = .seconds(30)
        /// How often to poll without a notification: for delayed jobs, and in case a notification was lost.
        public var pollInterval: Duration = .seconds(2)
        public var shutdownGrace: Duration = .seconds(3)
        /// How long finished jobs are kept.
        public var retention: Duration = .seconds(7 * 86_400)

        public init() {}
    }

    typealias Run = @Sendable (RunningJob) async throws -> PostgresJSON

    private struct Handler: Sendable {
        var retries: JobRetries
        var timeLimit: Duration
        var run: Run
    }

    private let queue: JobQueue
    private let handlers: [String: Handler]
    private let configuration: Configuration
    private let logger: Logger
    /// Keyed by lease.
    private let running = Mutex<[UUID: RunningJob]>([:])

    public init(
        queue: JobQueue, handlers: [any JobHandler], configuration: Configuration = Configuration(), logger: Logger
    ) {
        self.queue = queue
        self.configuration = configuration
        self.logger = logger
        self.handlers = Dictionary(uniqueKeysWithValues: handlers.map { Self.entry($0) })
    }

    private static func entry<H: JobHandler>(_ handler: H) -> (String, Handler) {
        let run: Run = { job in
            let parameters: H.Parameters
            do {
                parameters = try JSONDecoder().decode(H.Parameters.self, from: Data(job.claim.parameters.bytes))
            } catch {
                throw JobFailure(
                    code: "invalid-job", detail: "This version cannot read the job's parameters.", cause: "\(error)")
            }
            return PostgresJSON(Array(try JSONEncoder.ofResults.encode(try await handler.run(parameters, job))))
        }
        return (H.kind, Handler(retries: H.retries, timeLimit: H.timeLimit, run: run))
    }

    public func run() async throws {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.listen(wake) }
                group.addTask { await self.renewLeasesPeriodically() }
                group.addTask { await self.pollPeriodically(wake) }
                for await _ in wakes {
                    for claim in await claim() {
                        group.addTask {
                            await self.work(claim)
                            wake.yield()
                        }
                    }
                }
                await drain()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            wake.finish()
        }
    }
}

// MARK: - Finding jobs

extension JobWorker {
    private func claim() async -> [RunningJob] {
        let free = configuration.concurrency - running.withLock { $0.count }
        guard free > 0, !Task.isCancelled else { return [] }
        do {
            let claims = try await queue.claim(kinds: Array(handlers.keys), limit: free, lease: configuration.lease)
            let jobs = claims.map { RunningJob($0, queue: queue) }
            running.withLock { running in
                for job in jobs { running[job.claim.lease] = job }
            }
            return jobs
        } catch {
            logger.debug("Could not claim jobs; retrying at the next poll.", metadata: ["error.cause": "\(error)"])
            return []
        }
    }

    private func listen(_ wake: AsyncStream<Void>.Continuation) async {
        for await notification in queue.postgres.listen(queue.channel) {
            if let id = UUID(uuidString: notification.payload) {
                running.withLock { running in running.values.first { $0.id == id } }?.interrupt(.cancelled)
            } else {
                wake.yield()
            }
        }
    }

    private func pollPeriodically(_ wake: AsyncStream<Void>.Continuation) async {
        var rounds = 0
        await NotifiedLoop(every: configuration.pollInterval, jitter: 0.9...1.1).run {
            wake.yield()
            await attempt(
                "Could not rescue jobs of lost workers; retrying at the next poll.", level: .debug, logger: logger
            ) {
                let rescued = try await queue.rescue()
                if rescued > 0 { logger.notice("Rescued jobs of lost workers.", metadata: ["job.count": "\(rescued)"]) }
            }
            // About once a minute with the default interval.
            if rounds % 30 == 0 {
                await attempt("Could not prune finished jobs; retrying later.", level: .debug, logger: logger) {
                    _ = try await queue.prune(retention: configuration.retention)
                }
            }
            rounds += 1
            return true
        }
    }
}

// MARK: - Keeping leases

extension JobWorker {
    private func renewLeasesPeriodically() async {
        let interval = configuration.lease / 3
        var lastSuccess = ContinuousClock.now
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            let jobs = running.withLock { $0 }
            let start = ContinuousClock.now
            guard !jobs.isEmpty else {
                lastSuccess = start
                continue
            }
            do {
                let held = try await queue.renew(Array(jobs.keys), lease: configuration.lease)
                lastSuccess = start
                for (lease, job) in jobs where running.withLock({ $0[lease] != nil }) {
                    switch held[lease] {
                    case nil: if !job.isFinishedByHandler { job.interrupt(.leaseLost) }
                    case true?: job.interrupt(.cancelled)
                    case false?: break
                    }
                }
            } catch {
                logger.debug("Could not renew job leases; retrying.", metadata: ["error.cause": "\(error)"])
                // Stop the jobs before another worker can claim them.
                guard ContinuousClock.now - lastSuccess > configuration.lease - interval else { continue }
                for job in jobs.values { job.interrupt(.leaseLost) }
            }
        }
    }

    private func drain() async {
        let end = ContinuousClock.now + configuration.shutdownGrace
        while !Task.isCancelled, ContinuousClock.now < end, running.withLock({ !$0.isEmpty }) {
            try? await Task.sleep(for: .milliseconds(20))
        }
        for job in running.withLock({ Array($0.values) }) { job.interrupt(.shutdown) }
        while !Task.isCancelled, running.withLock({ !$0.isEmpty }) { try? await Task.sleep(for: .milliseconds(20)) }
    }
}

// MARK: - Running a job

extension JobWorker {
    private enum Outcome: Sendable {
        case done(PostgresJSON)
        case failed(any Error)
        case interrupted(JobInterruption)
    }

    private func work(_ job: RunningJob) async {
        guard let handler = handlers[job.claim.kind] else { return }
        let outcome = await outcome(of: job, handler)
        // An unstructured task, so that cancelling this one does not cancel the write.
        await Task { await self.settle(job, outcome, handler) }.value
        _ = running.withLock { $0.removeValue(forKey: job.claim.lease) }
    }

    /// Waits until the handler has ended, even after an interruption, so that the job is not released while it still
    /// runs. How a handler fails after an interruption proves nothing, so only its success counts then.
    private func outcome(of job: RunningJob, _ handler: Handler) async -> Outcome {
        // Not a child task: cancelling this one would cancel the handler before the job is interrupted.
        let run = Task { await Self.run(job, handler) }
        let outcome = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self, returning: Outcome.self) { group in
                group.addTask {
                    for await _ in job.interruptions { run.cancel() }
                }
                group.addTask {
                    do { try await Task.sleep(for: handler.timeLimit) } catch { return }
                    job.interrupt(.timeLimit)
                }
                let outcome = await run.value
                group.cancelAll()
                return outcome
            }
        } onCancel: {
            job.interrupt(.shutdown)
            run.cancel()
        }
        if case .done = outcome { return outcome }
        return job.interruption.map { .interrupted($0) } ?? outcome
    }

    private static func run(_ job: RunningJob, _ handler: Handler) async -> Outcome {
        do {
            return .done(try await handler.run(job))
        } catch {
            return .failed(error)
        }
    }

    /// Writes the outcome, retrying for as long as the lease lasts.
    private func settle(_ job: RunningJob, _ outcome: Outcome, _ handler: Handler) async {
        let end = ContinuousClock.now + configuration.lease
        while true {
            do {
                return try await write(job, outcome, handler)
            } catch {
                guard ContinuousClock.now < end else {
                    return logger.warning(
                        "Could not write the outcome of a job; it is rescued when its lease expires.",
                        metadata: job.metadata(["error.cause": "\(error)"]))
                }
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    private func write(_ job: RunningJob, _ outcome: Outcome, _ handler: Handler) async throws {
        let claim = job.claim
        switch outcome {
        case .done(let result): try await queue.postgres.execute(queue.completion(claim, result))
        case .interrupted(.cancelled): try await queue.end(claim, state: "cancelled")
        case .interrupted(.shutdown): try await queue.release(claim)
        case .interrupted(.leaseLost):
            logger.warning("Lost the lease of a job; another worker may run it.", metadata: job.metadata())
        case .interrupted(.timeLimit):
            try await fail(
                job, JobFailure(code: "job-timeout", detail: "The job took too long.", isFinal: false), handler)
        case .failed(let postponement as JobPostponement): try await queue.release(claim, delay: postponement.delay)
        case .failed(let failure as JobFailure): try await fail(job, failure, handler)
        case .failed(let error):
            let failure = JobFailure(
                code: "internal-error", detail: "Something went wrong on the server.", isFinal: false, cause: "\(error)"
            )
            try await fail(job, failure, handler)
        }
    }

    private func fail(_ job: RunningJob, _ failure: JobFailure, _ handler: Handler) async throws {
        let isEnd = failure.isFinal || job.isLastAttempt
        let delay = isEnd ? nil : handler.retries.delay(after: job.attempt)
        try await queue.fail(job.claim, failure, retryIn: delay)
        // `detail` is not logged: it is for the owner and may quote the owner's data.
        var metadata = job.metadata(["error.code": "\(failure.code)"])
        if let cause = failure.cause { metadata["error.cause"] = "\(cause)" }
        if isEnd {
            logger.warning("Job failed.", metadata: metadata)
        } else {
            logger.info("Job failed; retrying.", metadata: metadata)
        }
    }
}

extension RunningJob {
    fileprivate func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        ["job.id": "\(id)", "job.kind": "\(claim.kind)", "job.attempt": "\(attempt)"].merging(more) { $1 }
    }
}
