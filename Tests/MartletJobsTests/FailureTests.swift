import Foundation
import MartletPostgres
import MartletTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import MartletJobs

@Suite struct FailureTests {
    struct Mishap: Error {}

    @Test func `a job is retried until it succeeds`() async throws {
        try await TestQueue.with { test async throws in
            let handler = Simple { _, job in
                guard job.attempt == 3 else { throw Mishap() }
                return ""
            }
            let id = try await test.enqueue(Simple.self)
            try await test.withWorkers([handler]) { _ async throws in
                let job = try await test.finished(id)
                #expect(job.state == .done && job.attempt == 3 && job.failure == nil)
            }
        }
    }

    @Test func `after the last attempt the job has failed, and the cause is hidden`() async throws {
        try await TestQueue.with { test async throws in
            // A `CancellationError` is a failure like any other if nobody has stopped the job.
            for mishap in [Mishap(), CancellationError()] as [any Error] {
                let id = try await test.enqueue(Simple.self)
                try await test.withWorkers([Simple { _, _ in throw mishap }]) { _ async throws in
                    let job = try await test.finished(id)
                    #expect(job.state == .failed && job.attempt == 3 && job.failure?.code == "internal-error")
                    #expect(job.failure?.detail == "Something went wrong on the server.")
                }
            }
        }
    }

    @Test func `a permanent failure is not retried, and its message reaches the owner`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            try await test.withWorkers([Simple { _, _ in throw JobFailure(code: "bad-file", detail: "Line 3.") }]) {
                _ async throws in
                let job = try await test.finished(id)
                #expect(job.state == .failed && job.attempt == 1)
                #expect(job.failure == JobFailure(code: "bad-file", detail: "Line 3."))
            }
        }
    }

    @Test func `the delay doubles up to its limit`() {
        let retries = JobRetries(maximumAttempts: 9, firstDelay: .seconds(5), maximumDelay: .seconds(60))
        #expect(
            [1, 2, 3, 4, 5, 90].map { retries.delay(after: $0, jitter: 1) }
                == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
    }

    @Test func `a postponed job runs later, and this does not count as an attempt`() async throws {
        try await TestQueue.with { test async throws in
            let runs = Mutex(0)
            let handler = Simple { _, _ in
                guard
                    runs.withLock({
                        $0 += 1
                        return $0
                    }) > 5
                else { throw JobPostponement(by: .milliseconds(1)) }
                return ""
            }
            let id = try await test.enqueue(Simple.self)
            try await test.withWorkers([handler]) { _ async throws in
                let job = try await test.finished(id)
                #expect(job.state == .done && job.attempt == 1)
            }
        }
    }

    @Test func `a job that takes too long is stopped, and its handler knows why`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Impatient.self)
            let interruption = Mutex<JobInterruption?>(nil)
            let handler = Impatient { job in interruption.withLock { $0 = job.interruption } }
            try await test.withWorkers([handler]) { _ async throws in
                let job = try await test.finished(id)
                #expect(job.state == .failed && job.failure?.code == "job-timeout")
            }
            #expect(interruption.withLock { $0 } == .timeLimit)
        }
    }

    @Test func `parameters that a handler cannot read fail the job`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            try await test.postgres.execute("UPDATE storage.jobs SET parameters = '{}'")
            try await test.withWorkers([Simple { _, _ in "" }]) { _ async throws in
                #expect(try await test.finished(id).failure?.code == "invalid-job")
            }
        }
    }

    // A dead worker leaves its lease behind, and no one renews it.

    @Test func `the job of a dead worker is taken over when its lease expires, not before`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let start = ContinuousClock.now
            let dead = try #require(
                try await test.queue.claim(kinds: [Simple.kind], limit: 1, lease: .milliseconds(600)).first)
            try await test.withWorkers([Simple { _, _ in "second" }]) { _ async throws in
                let job = try await test.finished(id)
                #expect(ContinuousClock.now - start >= .milliseconds(600))
                #expect(job.state == .done && job.attempt == 2)
            }
            // If the first worker was only slow, not dead, then its late writes change nothing.
            try await test.queue.end(dead, state: "failed")
            try await test.queue.release(dead)
            #expect(try await test.queue.report(JobProgress(done: 99), dead) == nil)
            let job = try #require(try await test.queue.job(id, scope: ""))
            #expect(job.state == .done && job.progress.done == 0)
        }
    }

    @Test func `a job that crashes its worker fails after its attempts, and others run meanwhile`()
        async throws
    {
        try await TestQueue.with { test async throws in
            let poison = try await test.enqueue(Simple.self)
            for attempt in 1...3 {
                try await test.postgres.execute("UPDATE storage.jobs SET due = now() - interval '1 second'")
                let claimed = try await test.queue.claim(kinds: [Simple.kind], limit: 1, lease: .zero)
                #expect(claimed.map(\.attempt) == [attempt])
                #expect(try await test.queue.rescue() == 1)
            }
            let job = try #require(try await test.queue.job(poison, scope: ""))
            #expect(job.state == .failed && job.failure?.code == "worker-lost")
            #expect(try await test.queue.rescue() == 0)
            let other = try await test.enqueue(Simple.self)
            try await test.withWorkers([Simple { _, _ in "" }]) { _ async throws in
                #expect(try await test.finished(other).state == .done)
            }
        }
    }

    @Test func `a long job renews its lease`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            let handler = Simple { _, _ in
                for await _ in ends {}
                return ""
            }
            func lease() async throws -> Double? {
                try await test.postgres.query("SELECT extract(epoch FROM leased_until)::float8 FROM storage.jobs")[0]
                    .decode(0)
            }
            try await test.withWorkers([handler], count: 2, lease: .seconds(30)) { _ async throws in
                let first = try await eventually("it is leased") { try await lease() }
                try await eventually("the lease is renewed") { try await lease() ?? 0 > first + 5 }
                end.finish()
                let job = try await test.finished(id)
                #expect(job.state == .done && job.attempt == 1)
            }
        }
    }

    @Test func `a worker that has lost its lease stops its work`() async throws {
        try await TestQueue.with { test async throws in
            let wasStopped = Mutex(false)
            let handler = Simple { _, job in
                guard job.attempt == 1 else { return "other" }
                do { try await Task.sleep(for: .seconds(60)) } catch { wasStopped.withLock { $0 = true } }
                return "late"
            }
            let id = try await test.enqueue(Simple.self)
            try await test.withWorkers([handler], lease: .seconds(15)) { _ async throws in
                try await eventually("it runs") { try await test.queue.job(id, scope: "")?.state == .running }
                try await test.postgres.execute(
                    "UPDATE storage.jobs SET state = 'waiting', lease = NULL, leased_until = NULL")
                let job = try await test.finished(id)
                #expect(job.result.map { String(decoding: $0.bytes, as: UTF8.self) } == #""other""#)
                try await eventually("the first run stops") { wasStopped.withLock { $0 } }
            }
        }
    }

    @Test func `work that commits with its job takes place once, even after the lease is lost`()
        async throws
    {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let claim = try #require(try await test.queue.claim(kinds: [Simple.kind], limit: 1, lease: .zero).first)
            #expect(try await test.queue.rescue() == 1)
            let zombie = RunningJob(claim, queue: test.queue)
            await #expect(throws: JobInterruption.leaseLost) {
                try await test.postgres.withTransaction { transaction in
                    _ = try await test.queue.enqueue(Simple.self, "an effect", in: transaction)
                    try await zombie.finish("", in: transaction)
                }
            }
            #expect(try await test.queue.jobs(scope: "", limit: 9).map(\.id) == [id])
            let handler = Simple { _, job in
                try await test.postgres.withTransaction { try await job.finish("in the transaction", in: $0) }
                return "in the transaction"
            }
            try await test.withWorkers([handler]) { _ async throws in
                #expect(try await test.finished(id).state == .done)
            }
        }
    }
}

@Suite struct CancellationTests {
    struct End: Error {}

    @Test func `a waiting job is cancelled at once, and a finished one does not change`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self, JobOptions(scope: "a"))
            #expect(try await test.queue.cancel(id, scope: "b") == nil)
            #expect(try await test.queue.cancel(id, scope: "a")?.state == .cancelled)
            #expect(try await test.queue.claim(kinds: [Simple.kind], limit: 9, lease: .seconds(9)).isEmpty)
            #expect(try await test.queue.cancel(id, scope: "a")?.state == .cancelled)
        }
    }

    @Test(arguments: [true, false])
    func `cancellation reaches a job running on another instance, with or without a notification`(_ notifies: Bool)
        async throws
    {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let handler = Simple { _, _ in
                try await Task.sleep(for: .seconds(60))
                return ""
            }
            try await test.withWorkers([handler], lease: .seconds(15)) { _ async throws in
                try await eventually("it runs") { try await test.queue.job(id, scope: "")?.state == .running }
                if notifies {
                    let job = try await test.queue.cancel(id, scope: "")
                    #expect(job?.state == .running && job?.isCancelRequested == true)
                } else {
                    try await test.postgres.execute("UPDATE storage.jobs SET cancel_requested = TRUE")
                }
                let job = try await test.finished(id)
                #expect(job.state == .cancelled && job.attempt == 1)
            }
        }
    }

    @Test func `a handler that only reports progress is cancelled, too`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let claim = try #require(
                try await test.queue.claim(kinds: [Simple.kind], limit: 1, lease: .seconds(9)).first)
            let job = RunningJob(claim, queue: test.queue)
            try await job.report(JobProgress(done: 1))
            _ = try await test.queue.cancel(id, scope: "")
            await #expect(throws: JobInterruption.cancelled) {
                try await job.report(JobProgress(done: 2), isImportant: true)
            }
        }
    }

    @Test func `a cancelled job whose worker died stays cancelled`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            _ = try await test.queue.claim(kinds: [Simple.kind], limit: 1, lease: .zero)
            _ = try await test.queue.cancel(id, scope: "")
            #expect(try await test.queue.rescue() == 1)
            #expect(try await test.queue.job(id, scope: "")?.state == .cancelled)
        }
    }

    @Test func `at shutdown the job moves to another instance at once, and the attempt does not count`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let runs = Mutex(0)
            let handler = Simple { _, _ in
                if runs.withLock({
                    $0 += 1
                    return $0
                }) == 1 {
                    try await Task.sleep(for: .seconds(60))
                }
                return ""
            }
            try await test.withWorkers([handler], lease: .seconds(30)) { first async throws in
                try await eventually("it runs") { try await test.queue.job(id, scope: "")?.state == .running }
                try await test.withWorkers([handler], lease: .seconds(30)) { _ async throws in
                    await first[0].triggerGracefulShutdown()
                    let job = try await test.finished(id)
                    #expect(job.state == .done && job.attempt == 1 && runs.withLock { $0 } == 2)
                }
            }
        }
    }

    @Test func `a job whose worker is cancelled moves to another instance, whatever its handler throws`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let interruption = Mutex<JobInterruption?>(nil)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let handler = Simple { _, job in
                start.finish()
                do { try await Task.sleep(for: .seconds(60)) } catch {
                    interruption.withLock { $0 = job.interruption }
                }
                throw JobFailure(code: "bad-file", detail: "Line 3.")
            }
            await #expect(throws: End.self) {
                try await test.withWorkers([handler]) { _ async throws in
                    for await _ in starts {}
                    throw End()
                }
            }
            #expect(interruption.withLock { $0 } == .shutdown)
            let job = try #require(try await test.queue.job(id, scope: ""))
            #expect(job.state == .waiting && job.attempt == 0 && job.failure == nil)
        }
    }

    @Test func `a handler knows whether its failure ends the job`() async throws {
        try await TestQueue.with { test async throws in
            let failure = JobFailure(code: "bad-file", detail: "Line 3.")
            func isOver(_ interruption: JobInterruption?, attempt: Int = 1, after error: any Error) -> Bool {
                let claim = ClaimedJob(
                    id: UUID(), lease: UUID(), kind: Simple.kind, scope: "", parameters: PostgresJSON([]),
                    attempt: attempt, maximumAttempts: 3)
                let job = RunningJob(claim, queue: test.queue)
                if let interruption { job.interrupt(interruption) }
                let isOver = job.isOver(after: error)
                // The handler may have cleaned up by now.
                job.interrupt(.shutdown)
                #expect(job.interruption == interruption)
                return isOver
            }
            #expect(isOver(nil, after: failure) && isOver(nil, attempt: 3, after: End()))
            #expect(isOver(nil, attempt: 3, after: CancellationError()))
            #expect(!isOver(nil, after: End()) && !isOver(nil, attempt: 3, after: JobPostponement(by: .zero)))
            #expect(!isOver(.shutdown, attempt: 3, after: failure) && !isOver(.leaseLost, attempt: 3, after: failure))
            #expect(isOver(.cancelled, after: End()))
            #expect(isOver(.timeLimit, attempt: 3, after: End()) && !isOver(.timeLimit, after: failure))
        }
    }

    @Test func `at shutdown a job that is about to finish may do so`() async throws {
        try await TestQueue.with { test async throws in
            let id = try await test.enqueue(Simple.self)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let handler = Simple { _, _ in
                start.finish()
                try await Task.sleep(for: .milliseconds(60))
                return ""
            }
            try await test.withWorkers([handler], grace: .seconds(60)) { _ async throws in
                for await _ in starts {}
            }
            #expect(try await test.queue.job(id, scope: "")?.state == .done)
        }
    }
}
