import MartletAPI
import MartletHTTP
import MartletPostgres
import Synchronization

/// Makes sure that an app's schema and role are there, asking the database once per process and space.
final class Spaces: Sendable {
    private let postgres: PostgresClient
    private let known = Mutex<Set<AppSpace>>([])

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    func prepare(_ space: AppSpace) async throws {
        if known.withLock({ $0.contains(space) }) { return }
        try await postgres.execute("SELECT storage.provision(\(space.appID), \(space.environment.rawValue))")
        _ = known.withLock { $0.insert(space) }
    }

    /// Makes the next `prepare` ask the database again.
    func forget(_ space: AppSpace) {
        _ = known.withLock { $0.remove(space) }
    }
}
