import Foundation
import Logging
import MartletPostgres
import MartletTesting
import ServiceLifecycle
import ServiceTesting
import Synchronization
import Testing

@testable import MartletJobs

/// A queue on a database of its own, with the role of a service.
struct TestQueue: Sendable {
    let queue: JobQueue
    let postgres: PostgresClient

    static func with(_ body: (TestQueue) async throws -> Void) async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "storage", maximumConnections: 4)
            try await body(TestQueue(queue: JobQueue(postgres: postgres, schema: "storage"), postgres: postgres))
            await postgres.close()
        }
    }

    /// Runs workers with these handlers until `body` returns.
    ///
    /// - Parameters:
    ///   - lease: Renewed after a third of it. Long, so that no worker on a slow machine loses one.
    ///   - grace: How long a job may run on at shutdown.
    func withWorkers(
        _ handlers: [any JobHandler], count: Int = 1, lease: Duration = .seconds(60), concurrency: Int = 4,
        grace: Duration = .seconds(1), _ body: ([ServiceGroup]) async throws -> Void
    ) async throws {
        let groups = (0..<count).map { _ in
            var configuration = JobWorker.Configuration()
            configuration.lease = lease
            configuration.concurrency = concurrency
            configuration.pollInterval = .milliseconds(100)
            configuration.shutdownGrace = grace
            let worker = JobWorker(queue: queue, handlers: handlers, configuration: configuration, logger: .silent)
            return ServiceGroup(services: [worker], logger: .silent)
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for group in groups { tasks.addTask { try await group.run() } }
            do {
                try await body(groups)
                for group in groups { await group.triggerGracefulShutdown() }
                try await tasks.waitForAll()
            } catch {
                tasks.cancelAll()
                throw error
            }
        }
    }

    func enqueue<H: JobHandler>(_ handler: H.Type, _ options: JobOptions = JobOptions()) async throws -> UUID
    where H.Parameters == String {
        try #require(try await queue.enqueue(handler, "p", options))
    }

    func finished(_ id: UUID, scope: String = "") async throws -> Job {
        try await eventually("job \(id) is finished") {
            let job = try await queue.job(id, scope: scope)
            return job?.state.isFinished == true ? job : nil
        }
    }
}

/// A handler that calls a closure; three attempts with short pauses.
struct Simple: JobHandler {
    static let kind = "test.simple"
    static let retries = JobRetries(maximumAttempts: 3, firstDelay: .milliseconds(20))

    let body: @Sendable (String, RunningJob) async throws -> String

    func run(_ parameters: String, _ job: RunningJob) async throws -> String {
        try await body(parameters, job)
    }
}

struct Impatient: JobHandler {
    static let kind = "test.impatient"
    static let retries = JobRetries(maximumAttempts: 1)
    static let timeLimit: Duration = .milliseconds(100)

    let atItsEnd: @Sendable (RunningJob) -> Void

    func run(_ parameters: String, _ job: RunningJob) async throws -> String {
        defer { atItsEnd(job) }
        try await Task.sleep(for: .seconds(60))
        return parameters
    }
}

/// Counts running work, and the maximum at once.
final class Tally: Sendable {
    private let state = Mutex<(running: [String: Int], most: [String: Int], runs: [UUID: Int])>(([:], [:], [:]))

    func enter(_ group: String, _ id: UUID) {
        state.withLock { state in
            state.running[group, default: 0] += 1
            state.most[group] = max(state.most[group] ?? 0, state.running[group] ?? 0)
            state.runs[id, default: 0] += 1
        }
    }

    func leave(_ group: String) {
        state.withLock { $0.running[group, default: 0] -= 1 }
    }

    /// The maximum at once, by group.
    var most: [String: Int] { state.withLock { $0.most } }
    var runs: [UUID: Int] { state.withLock { $0.runs } }
}
