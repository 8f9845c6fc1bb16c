import Foundation
public import Logging
import MartletPostgres
public import ServiceLifecycle
import Synchronization

/// Runs the jobs of a queue. Any number of them may, in any number of processes.
///
/// A job belongs to a worker as long as its lease is renewed, three times within its length. A worker that cannot renew
/// stops the job by itself before another one may take it. After a graceful shutdown, running jobs have `shutdownGrace`
/// to end; then they are cancelled and given back, so that another copy takes over at once.
public final class JobWorker: Service {
    public struct Configuration: Sendable {
        /// Jobs at a time.
        public var concurrency = 4
        /// How long a job of a process that died stays with it.
        public var lease: Duration = .seconds(30)
        /// How often to look for jobs when nobody tells of any: delayed ones, and after a lost notification.
        public var pollInterval: Duration = .seconds(2)
        public var shutdownGrace: Duration = .seconds(3)
        /// How long finished jobs can be asked for.
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
    /// By lease.
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
                    code: "invalid-job", detail: "The job cannot be read by this version.", cause: "\(error)")
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
                group.addTask { await self.renewFromTimeToTime() }
                group.addTask { await self.lookFromTimeToTime(wake) }
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
            logger.debug("no jobs claimed", metadata: ["error.cause": "\(error)"])
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

    private func lookFromTimeToTime(_ wake: AsyncStream<Void>.Continuation) async {
        var rounds = 0
        while !Task.isCancelled {
            wake.yield()
            await attempt("jobs not rescued") {
                let rescued = try await queue.rescue()
                if rescued > 0 {
                    logger.notice("jobs of lost workers taken back", metadata: ["job.count": "\(rescued)"])
                }
            }
            // About once a minute with the usual interval.
            if rounds % 30 == 0 {
                await attempt("jobs not pruned") { _ = try await queue.prune(retention: configuration.retention) }
            }
            rounds += 1
            try? await Task.sleep(for: configuration.pollInterval * Double.random(in: 0.9...1.1))
        }
    }

    /// A look that failed is repeated soon: it is worth no more than a line for the curious.
    private func attempt(_ sentence: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            logger.debug(sentence, metadata: ["error.cause": "\(error)"])
        }
    }
}

// MARK: - Keeping leases

extension JobWorker {
    private func renewFromTimeToTime() async {
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
                logger.debug("leases not renewed", metadata: ["error.cause": "\(error)"])
                // Before PostgreSQL gives the jobs to somebody else.
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

// MARK: - Running one

extension JobWorker {
    private enum Outcome: Sendable {
        case done(PostgresJSON)
        case failed(any Error)
        case interrupted(JobInterruption)
    }

    private func work(_ job: RunningJob) async {
        guard let handler = handlers[job.claim.kind] else { return }
        let outcome = await outcome(of: job, handler)
        // In a task of its own, which is not cancelled with this one.
        await Task { await self.settle(job, outcome, handler) }.value
        _ = running.withLock { $0.removeValue(forKey: job.claim.lease) }
    }

    /// The handler's end, which is waited for also after an interruption: until then the job is not given away.
    private func outcome(of job: RunningJob, _ handler: Handler) async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await Self.run(job, handler) }
            group.addTask {
                for await reason in job.interruptions { return .interrupted(reason) }
                return nil
            }
            group.addTask {
                do { try await Task.sleep(for: handler.timeLimit) } catch { return nil }
                return .interrupted(.timeLimit)
            }
            var result: Outcome?
            for await outcome in group {
                group.cancelAll()
                switch (outcome, result) {
                case (.done?, _), (_?, nil): result = outcome
                default: break
                }
            }
            return result ?? .interrupted(.shutdown)
        }
    }

    private static func run(_ job: RunningJob, _ handler: Handler) async -> Outcome {
        do {
            return .done(try await handler.run(job))
        } catch let interruption as JobInterruption {
            return .interrupted(interruption)
        } catch is CancellationError {
            return .interrupted(.shutdown)
        } catch let error as PostgresError where error.code == .cancelled && Task.isCancelled {
            return .interrupted(.shutdown)
        } catch {
            return .failed(error)
        }
    }

    /// Writes the end, trying for as long as the lease is good.
    private func settle(_ job: RunningJob, _ outcome: Outcome, _ handler: Handler) async {
        let end = ContinuousClock.now + configuration.lease
        while true {
            do {
                return try await write(job, outcome, handler)
            } catch {
                guard ContinuousClock.now < end else {
                    return logger.warning(
                        "a job's end was not written", metadata: job.metadata(["error.cause": "\(error)"]))
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
        case .interrupted(.leaseLost): logger.warning("a job's lease was lost", metadata: job.metadata())
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
        // Not `detail`: that is for the owner, and may quote what is the owner's.
        var metadata = job.metadata(["error.code": "\(failure.code)"])
        if let cause = failure.cause { metadata["error.cause"] = "\(cause)" }
        if isEnd {
            logger.warning("a job failed", metadata: metadata)
        } else {
            logger.info("a job is tried again", metadata: metadata)
        }
    }
}

extension RunningJob {
    fileprivate func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        ["job.id": "\(id)", "job.kind": "\(claim.kind)", "job.attempt": "\(attempt)"].merging(more) { $1 }
    }
}
