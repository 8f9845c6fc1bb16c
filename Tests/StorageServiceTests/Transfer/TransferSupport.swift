import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Runs an app's jobs in this process, and waits for them.
extension StorageApp {
    /// One worker for all tests on a database, which runs jobs of any app.
    func startWorker() async throws {
        await sharedWorker.start(postgres)
    }

    /// A worker for an app that is alone on its database.
    func worker() -> Task<Void, any Error> {
        let service = StorageService(postgres: postgres, files: SharedFiles.settings)
        return Task { try await service.worker.run() }
    }

    func finished(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Answer {
        #expect(answer.status == 202, "\(answer)", sourceLocation: sourceLocation)
        guard case .string(let text)? = answer.json?["id"], let id = UUID(uuidString: text) else { return answer }
        try await startWorker()
        return try await wait(for: id)
    }

    func wait(for id: UUID) async throws -> Answer {
        try await eventually("job \(id) is finished") {
            let job = try await master.get("/jobs/\(id)")
            return job["finished"] != "null" ? job : nil
        }
    }

    /// Imports a file and waits for the job.
    func importing(
        _ file: String, to collection: String, _ parameters: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        try await finished(
            master.post("/imports/\(collection)?\(parameters)", file), sourceLocation: sourceLocation)
    }
}

/// Ends with the test database's last app.
actor SharedWorker {
    private var task: Task<Void, any Error>?

    func start(_ postgres: PostgresClient) {
        guard task == nil else { return }
        var jobs = JobWorker.Configuration()
        jobs.pollInterval = .milliseconds(200)
        let service = StorageService(postgres: postgres, files: SharedFiles.settings, jobs: jobs)
        task = Task { try await service.worker.run() }
    }

    func stop() { task?.cancel() }
}
