import Crypto
import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletPostgres

/// Slows down guessing: each failure beyond the first few doubles the pause before the next attempt. Shared by all
/// instances of the service.
///
/// An attempt counts as a failure until it succeeds, so concurrent attempts gain nothing. Attempts are counted by the
/// named account, whether or not it exists, and by the client's address.
struct AttemptStore: Sendable {
    struct Limit: Sendable {
        /// The SHA-256 of the counted subject; neither names nor addresses are stored.
        let key: Data
        /// The number of failures without a pause.
        let free: Int
        /// The time after which one failure is forgotten.
        let secondsPerFailure: Int
        let longestPauseInSeconds: Int

        /// Allows some 300 guesses a day for each way to name an account.
        static func account(_ identity: String, in space: AppSpace) -> Limit {
            Limit("account", space, identity, free: 5, secondsPerFailure: 600, longestPauseInSeconds: 300)
        }

        /// The limit for an address from which the account's owner has signed in. Attempts from such an address are
        /// counted separately, so that attackers elsewhere cannot make the owner wait.
        static func account(_ identity: String, from address: String, in space: AppSpace) -> Limit {
            Limit(
                "account from", space, "\(identity)\u{0}\(address)", free: 5, secondsPerFailure: 600,
                longestPauseInSeconds: 300)
        }

        /// Codes of the second factor; allows some 100 guesses a day.
        static func code(of user: UUID, in space: AppSpace) -> Limit {
            Limit("code", space, user.uuidString, free: 5, secondsPerFailure: 900, longestPauseInSeconds: 900)
        }

        /// Many people may share an address: allows 100 failures at first, then some 60 an hour.
        static func address(_ address: String, in space: AppSpace) -> Limit {
            Limit("address", space, address, free: 100, secondsPerFailure: 36, longestPauseInSeconds: 60)
        }

        /// Calls that reveal whether a name is taken. These attempts are never taken back.
        static func names(_ address: String, in space: AppSpace) -> Limit {
            Limit("names", space, address, free: 100, secondsPerFailure: 36, longestPauseInSeconds: 60)
        }

        /// Staff accounts, by name or by id; like `account`.
        static func staffAccount(_ name: String) -> Limit {
            Limit(["staff account", name], free: 5, secondsPerFailure: 600, longestPauseInSeconds: 300)
        }

        static func staffCode(of id: UUID) -> Limit {
            Limit(["staff code", id.uuidString], free: 5, secondsPerFailure: 900, longestPauseInSeconds: 900)
        }

        /// Fewer staff than users share an address: allows 20 failures at first, then some 12 an hour.
        static func staffAddress(_ address: String) -> Limit {
            Limit(["staff address", address], free: 20, secondsPerFailure: 300, longestPauseInSeconds: 300)
        }

        /// Challenges requested by clients that are not signed in. Each is stored for five minutes. Allows one every
        /// two seconds in the long run.
        static func challenges(_ address: String, in space: AppSpace) -> Limit {
            Limit("challenges", space, address, free: 200, secondsPerFailure: 2, longestPauseInSeconds: 30)
        }

        /// Mail that anyone can request by naming an address: five at once, then five an hour. These attempts are never
        /// taken back.
        static func mail(to address: String, in space: AppSpace) -> Limit {
            Limit("mail", space, address, free: 5, secondsPerFailure: 720, longestPauseInSeconds: 3_600)
        }

        /// Mailed codes, however many were mailed; allows some 150 guesses a day.
        static func mailCode(of subject: String, in space: AppSpace) -> Limit {
            Limit("mail code", space, subject, free: 10, secondsPerFailure: 600, longestPauseInSeconds: 900)
        }

        /// Started sign-in flows at providers. Taken back when the user returns.
        static func flows(_ address: String, in space: AppSpace) -> Limit {
            Limit("flows", space, address, free: 100, secondsPerFailure: 36, longestPauseInSeconds: 60)
        }

        private init(
            _ kind: String, _ space: AppSpace, _ subject: String, free: Int, secondsPerFailure: Int,
            longestPauseInSeconds: Int
        ) {
            self.init(
                [kind, space.appID, space.environment.rawValue, subject], free: free,
                secondsPerFailure: secondsPerFailure,
                longestPauseInSeconds: longestPauseInSeconds)
        }

        private init(_ subject: [String], free: Int, secondsPerFailure: Int, longestPauseInSeconds: Int) {
            key = Data(SHA256.hash(data: Data(subject.joined(separator: "\u{0}").utf8)))
            self.free = free
            self.secondsPerFailure = secondsPerFailure
            self.longestPauseInSeconds = longestPauseInSeconds
        }
    }

    let postgres: PostgresClient

    /// Counts an attempt as a failure.
    ///
    /// - Throws: `too-many-requests` with the seconds to wait.
    func begin(_ limits: [Limit]) async throws {
        for limit in limits where try await !count(limit) {
            let seconds: Int64? = try await postgres.query(
                "SELECT greatest(1, ceil(extract(epoch FROM not_before - now())))::bigint FROM auth.attempts WHERE key = \(limit.key)"
            ).first?.decode(0)
            throw ServiceError(
                .tooManyRequests, "Too many failed attempts; wait before trying again.",
                retryAfter: Int(seconds ?? 1))
        }
    }

    private func count(_ limit: Limit) async throws -> Bool {
        let failures: PostgresQuery =
            "(greatest(0, a.failures - extract(epoch FROM clock_timestamp() - a.updated) / \(Int64(limit.secondsPerFailure))) + 1)"
        let (free, longest) = (Int64(limit.free), Int64(limit.longestPauseInSeconds))
        // Uses the clock's time instead of the statement's start. A statement that waited for the row lock started
        // before the `not_before` that the other statement stored, so it would be refused even without a pause.
        return try await postgres.execute(
            """
            INSERT INTO auth.attempts AS a (key, failures, not_before, updated)
            VALUES (\(limit.key), 1, clock_timestamp(), clock_timestamp())
            ON CONFLICT (key) DO UPDATE SET
                failures = \(failures), updated = clock_timestamp(),
                not_before = clock_timestamp() + interval '1 second' * CASE
                    WHEN \(failures) < \(free) THEN 0 ELSE least(power(2, least(\(failures) - \(free), 20)), \(longest)) END
            WHERE a.not_before <= clock_timestamp()
            """) > 0
    }

    /// Counts an attempt. If `body` throws, nothing was checked and the attempt is taken back.
    func counting<Result>(_ limits: [Limit], _ body: () async throws -> Result) async throws -> Result {
        try await begin(limits)
        do {
            return try await body()
        } catch {
            try await takeBack(limits)
            throw error
        }
    }

    /// Counts a guess against `limit`. A correct guess clears the limit's count.
    ///
    /// - Parameter check: Checks the guess; nil means that it was wrong. If it throws, nothing was checked and nothing
    ///   is counted.
    /// - Returns: The result of `check`.
    func guess<Found>(_ limit: Limit, _ check: () async throws -> Found?) async throws -> Found? {
        let found = try await counting([limit], check)
        if found != nil { try await succeed(account: limit, address: nil) }
        return found
    }

    /// Takes back attempts that were counted but did not fail.
    func takeBack(_ limits: [Limit]) async throws {
        for limit in limits {
            try await postgres.execute(
                "UPDATE auth.attempts SET failures = greatest(0, failures - 1), not_before = clock_timestamp() WHERE key = \(limit.key)"
            )
        }
    }

    /// Records a successful attempt: clears the account's count and takes back this attempt from the address's count.
    func succeed(account: Limit?, address: Limit?) async throws {
        if let account { try await postgres.execute("DELETE FROM auth.attempts WHERE key = \(account.key)") }
        guard let address else { return }
        try await postgres.execute(
            "UPDATE auth.attempts SET failures = greatest(0, failures - 1) WHERE key = \(address.key)")
    }
}
