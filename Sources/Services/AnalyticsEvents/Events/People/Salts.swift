import Foundation
import MartletPostgres
import Synchronization

/// The daily salts for the digests of visitors, shared by all instances.
final class Salts: Sendable {
    private struct Salt {
        var day: Int
        var bytes: [UInt8]
    }

    private let postgres: PostgresClient
    private let known = Mutex<Salt?>(nil)

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// The salt of the UTC day that contains `date`.
    func salt(at date: Date) async throws -> [UInt8] {
        let day = Int((date.timeIntervalSince1970 / 86_400).rounded(.down))
        if let known = known.withLock({ $0 }), known.day == day { return known.bytes }
        var generator = SystemRandomNumberGenerator()
        let fresh = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let rows = try await postgres.query(
            """
            WITH made AS (
                INSERT INTO analytics.salts (day, salt) VALUES ('1970-01-01'::date + \(day)::integer, \(fresh)) ON CONFLICT DO NOTHING RETURNING salt)
            SELECT salt FROM made UNION ALL SELECT salt FROM analytics.salts WHERE day = '1970-01-01'::date + \(day)::integer LIMIT 1
            """)
        // Another instance inserted it while this statement ran; now it can be read.
        guard let salt = try rows.first?.decode(0, as: [UInt8].self) else { return try await self.salt(at: date) }
        known.withLock { $0 = Salt(day: day, bytes: salt) }
        return salt
    }

    /// The salts of days whose visitors can still be matched to an address and an agent.
    func all() async throws -> [[UInt8]] {
        try await postgres.query("SELECT salt FROM analytics.salts ORDER BY day").map { try $0.decode(0) }
    }

    /// Deletes the salts of days before yesterday.
    func expire() async throws {
        try await postgres.execute("DELETE FROM analytics.salts WHERE day < (now() AT TIME ZONE 'UTC')::date - 1")
    }
}
