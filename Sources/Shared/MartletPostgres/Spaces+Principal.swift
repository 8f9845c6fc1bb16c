import MartletAPI
import MartletCore
import MartletPostgres

extension Spaces {
    /// - Throws: `app-not-found` if the principal names no app; `PostgresError`.
    func space(of principal: Principal) async throws -> Space {
        guard !principal.appID.isEmpty else { throw ServiceError(.appNotFound) }
        return try await space(of: principal.appID, principal.environment)
    }
}
