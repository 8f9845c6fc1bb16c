import Crypto
import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Slows down who guesses: each failure beyond a few doubles the pause before the next attempt. Shared by all copies of
/// the service.
///
/// An attempt counts as a failure until it has succeeded, so that many at once gain nothing. What is counted is the
/// account as it was named, whether it exists or not, and the address that asks.
struct AttemptStore: Sendable {
    struct Limit: Sendable {
        /// SHA-256 of what is counted: neither names nor addresses are stored.
        let key: Data
        /// Failures without a pause.
        let free: Int
        /// After how long one failure is forgotten.
        let secondsPerFailure: Int
        let longestPauseInSeconds: Int

        /// Some 300 guesses a day for each of the ways to name an account.
        static func account(_ identity: String, in space: UserSpace) -> Limit {
            Limit("account", space, identity, free: 5, secondsPerFailure: 600, longestPauseInSeconds: 300)
        }

        /// The same from an address from which the account's owner has signed in: a count of its own, so that others
        /// cannot make the owner wait.
        static func account(_ identity: String, from address: String, in space: UserSpace) -> Limit {
            Limit(
                "account from", space, "\(identity)\u{0}\(address)", free: 5, secondsPerFailure: 600,
                longestPauseInSeconds: 300)
        }

        /// Codes of the second factor; some 100 guesses a day.
        static func code(of user: UUID, in space: UserSpace) -> Limit {
            Limit("code", space, user.uuidString, free: 5, secondsPerFailure: 900, longestPauseInSeconds: 900)
        }

        /// Many people may share an address: 100 failures an hour, beyond that some 60.
        static func address(_ address: String, in space: UserSpace) -> Limit {
            Limit("address", space, address, free: 100, secondsPerFailure: 36, longestPauseInSeconds: 60)
        }

        /// Names asked for, by making or naming an account: each tells whether somebody has it. None is taken back.
        static func names(_ address: String, in space: UserSpace) -> Limit {
            Limit("names", space, address, free: 100, secondsPerFailure: 36, longestPauseInSeconds: 60)
        }

        /// Staff, by name as by id; as `account`.
        static func staffAccount(_ name: String) -> Limit {
            Limit(["staff account", name], free: 5, secondsPerFailure: 600, longestPauseInSeconds: 300)
        }

        static func staffCode(of id: UUID) -> Limit {
            Limit(["staff code", id.uuidString], free: 5, secondsPerFailure: 900, longestPauseInSeconds: 900)
        }

        /// Fewer share an address than of users: 20 failures an hour, beyond that some 12.
        static func staffAddress(_ address: String) -> Limit {
            Limit(["staff address", address], free: 20, secondsPerFailure: 300, longestPauseInSeconds: 300)
        }

        /// Challenges asked for by people who are not signed in: each is a row for five minutes. One every two seconds
        /// in the long run.
        static func challenges(_ address: String, in space: UserSpace) -> Limit {
            Limit("challenges", space, address, free: 200, secondsPerFailure: 2, longestPauseInSeconds: 30)
        }

        /// Mail that anybody may ask for who names an address: five at once, then five an hour. None is taken back.
        static func mail(to address: String, in space: UserSpace) -> Limit {
            Limit("mail", space, address, free: 5, secondsPerFailure: 720, longestPauseInSeconds: 3_600)
        }

        /// Codes that were mailed, however many of them; some 150 guesses a day.
        static func mailCode(of subject: String, in space: UserSpace) -> Limit {
            Limit("mail code", space, subject, free: 10, secondsPerFailure: 600, longestPauseInSeconds: 900)
        }

        /// Ways to providers that were begun; those who come back take theirs back.
        static func flows(_ address: String, in space: UserSpace) -> Limit {
            Limit("flows", space, address, free: 100, secondsPerFailure: 36, longestPauseInSeconds: 60)
        }

        private init(
            _ kind: String, _ space: UserSpace, _ what: String, free: Int, secondsPerFailure: Int,
            longestPauseInSeconds: Int
        ) {
            self.init(
                [kind, space.appID, space.environment.rawValue, what], free: free, secondsPerFailure: secondsPerFailure,
                longestPauseInSeconds: longestPauseInSeconds)
        }

        private init(_ what: [String], free: Int, secondsPerFailure: Int, longestPauseInSeconds: Int) {
            key = Data(SHA256.hash(data: Data(what.joined(separator: "\u{0}").utf8)))
            self.free = free
            self.secondsPerFailure = secondsPerFailure
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
            throw HTTPProblem(
                .tooManyRequests, "Too many attempts in vain: wait a little.",
                headers: [.retryAfter: String(seconds ?? 1)])
        }
    }

    private func count(_ limit: Limit) async throws -> Bool {
        let failures: PostgresQuery =
            "(greatest(0, a.failures - extract(epoch FROM clock_timestamp() - a.updated) / \(Int64(limit.secondsPerFailure))) + 1)"
        let (free, longest) = (Int64(limit.free), Int64(limit.longestPauseInSeconds))
        // The clock's time, not the statement's: whoever waited for the row began before the other one's pause of
        // nothing.
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

    /// Counts an attempt, but for one at which `body` failed by an error: nobody looked at what it brought.
    func counting<Result>(_ limits: [Limit], _ body: () async throws -> Result) async throws -> Result {
        try await begin(limits)
        do {
            return try await body()
        } catch {
            try await takeBack(limits)
            throw error
        }
    }

    /// Counts a guess against `limit`, which forgets all that it has counted when the guess was right.
    ///
    /// - Parameter look: at what was guessed; nil: it was wrong. When it throws, nobody looked, and nothing is counted.
    /// - Returns: what `look` found.
    func guess<Found>(_ limit: Limit, _ look: () async throws -> Found?) async throws -> Found? {
        let found = try await counting([limit], look)
        if found != nil { try await succeed(account: limit, address: nil) }
        return found
    }

    /// The attempts were none: nobody looked at what they brought.
    func takeBack(_ limits: [Limit]) async throws {
        for limit in limits {
            try await postgres.execute(
                "UPDATE auth.attempts SET failures = greatest(0, failures - 1), not_before = clock_timestamp() WHERE key = \(limit.key)"
            )
        }
    }

    /// The attempt was none in vain: all that were counted for the account are forgotten, of those of the address this
    /// one.
    func succeed(account: Limit?, address: Limit?) async throws {
        if let account { try await postgres.execute("DELETE FROM auth.attempts WHERE key = \(account.key)") }
        guard let address else { return }
        try await postgres.execute(
            "UPDATE auth.attempts SET failures = greatest(0, failures - 1) WHERE key = \(address.key)")
    }
}
