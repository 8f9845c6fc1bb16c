import Crypto
import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Slows down who guesses: each failure beyond a few doubles the pause before the next attempt. Shared by all copies of the service.
///
/// An attempt counts as a failure until it has succeeded, so that many at once gain nothing. What is counted is the account as it was named,
/// whether it exists or not, and the address that asks.
struct AttemptStore: Sendable {
    struct Limit: Sendable {
        /// SHA-256 of what is counted: neither names nor addresses are stored.
        let key: Data
        /// Failures without a pause.
        let free: Int
        let longestPauseInSeconds: Int

        /// Some 300 guesses a day.
        static func account(_ identity: String, in space: UserSpace) -> Limit {
            Limit("account", space, identity, free: 5, longestPauseInSeconds: 300)
        }

        /// Many people may share an address.
        static func address(_ address: String, in space: UserSpace) -> Limit {
            Limit("address", space, address, free: 100, longestPauseInSeconds: 60)
        }

        /// New accounts of one address, of which none is taken back.
        static func newAccounts(_ address: String, in space: UserSpace) -> Limit {
            Limit("new", space, address, free: 100, longestPauseInSeconds: 60)
        }

        private init(_ kind: String, _ space: UserSpace, _ what: String, free: Int, longestPauseInSeconds: Int) {
            let text = [kind, space.appID, space.environment.rawValue, what].joined(separator: "\u{0}")
            key = Data(SHA256.hash(data: Data(text.utf8)))
            self.free = free
            self.longestPauseInSeconds = longestPauseInSeconds
        }
    }

    let postgres: PostgresClient

    /// Counts an attempt.
    ///
    /// - Throws: `too-many-requests` with the seconds to wait.
    func begin(_ limits: [Limit]) async throws {
        for limit in limits where try await !count(limit) {
            let seconds: Int64? = try await postgres.query(
                "SELECT greatest(1, ceil(extract(epoch FROM not_before - now())))::bigint FROM auth.attempts WHERE key = \(limit.key)"
            ).first?.decode(0)
            throw HTTPProblem(.tooManyRequests, "Too many attempts in vain: wait a little.", headers: [.retryAfter: String(seconds ?? 1)])
        }
    }

    /// An hour without an attempt and it starts afresh.
    private func count(_ limit: Limit) async throws -> Bool {
        let (free, longest) = (Int64(limit.free), Int64(limit.longestPauseInSeconds))
        return try await postgres.execute(
            """
            INSERT INTO auth.attempts AS a (key, failures, not_before, updated) VALUES (\(limit.key), 1, now(), now())
            ON CONFLICT (key) DO UPDATE SET
                failures = CASE WHEN a.updated < now() - interval '1 hour' THEN 1 ELSE a.failures + 1 END,
                not_before = now() + interval '1 second' * CASE
                    WHEN a.updated < now() - interval '1 hour' OR a.failures < \(free) THEN 0
                    ELSE least(power(2, least(a.failures - \(free), 20)), \(longest)) END,
                updated = now()
            WHERE a.not_before <= now()
            """) > 0
    }

    /// The attempt was none in vain: all that were counted for the account are forgotten, of those of the address this one.
    func succeed(account: Limit, address: Limit?) async throws {
        try await postgres.execute("DELETE FROM auth.attempts WHERE key = \(account.key)")
        guard let address else { return }
        try await postgres.execute("UPDATE auth.attempts SET failures = greatest(0, failures - 1), not_before = now() WHERE key = \(address.key)")
    }
}
