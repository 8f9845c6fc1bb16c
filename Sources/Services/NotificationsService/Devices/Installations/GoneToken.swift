import Foundation
import MartletPostgres

/// A token that a push service reported as gone.
struct GoneToken: Sendable, Equatable {
    var space: Int32
    var installation: UUID
    var token: String
    /// A token registered at this time or later is kept.
    var unlessRegisteredSince: Date
}

extension InstallationStore {
    /// Deletes invalid tokens. The installations stay, but get no push until they register a new token.
    ///
    /// Idempotent. Returns the number of deleted tokens.
    @discardableResult
    func forgetTokens(_ gone: [GoneToken]) async throws -> Int {
        guard !gone.isEmpty else { return 0 }
        return try await postgres.withTransaction(serializationRetries: 3) { transaction in
            try await transaction.execute(
                """
                WITH gone AS (
                    SELECT i.space, i.id FROM unnest(\(gone.map { Int($0.space) }), \(gone.map(\.installation)), \(gone.map(\.token)),
                        \(gone.map { Int($0.unlessRegisteredSince.timeIntervalSince1970 * 1_000_000) })) AS g (space, id, token, since)
                    JOIN notifications.installations AS i ON i.space = g.space AND i.id = g.id AND i.token = g.token
                        AND (i.token_registered IS NULL OR i.token_registered < timestamptz 'epoch' + g.since * interval '1 microsecond')
                    ORDER BY i.space, i.id FOR UPDATE OF i)
                UPDATE notifications.installations AS i
                SET token = NULL, public_key = NULL, auth_secret = NULL, token_registered = NULL, updated = now()
                FROM gone WHERE i.space = gone.space AND i.id = gone.id
                """)
        }
    }
}
