import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// A user's data in roll-ups: a number, the time of the first event, recent sessions, and bits in sets of persons.
/// Counts are anonymous and stay.
struct RollUpUserData: UserDataHolder {
    private static let timePerCall: Duration = .seconds(2)
    private static let daysPerStatement = 30
    private static let dimensions = Dimension.allCases.filter { $0 != .hour }.map { Int($0.rawValue) }

    let postgres: PostgresClient
    let subjects: UserSubjects

    /// A call clears days in order, for at most two seconds. The number is deleted last, because the bits are found by
    /// it.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let after = try request.after.map { try Self.day($0) }
        let subject = try await subjects.subject(of: request)
        return try await postgres.withTransaction { transaction in
            // Waits for a running roll-up, which may still hold erased events. The next one does not find them.
            try await transaction.execute("SELECT FROM analytics.rollups FOR UPDATE")
            let numbers = try await Self.numbers(of: subject, transaction)
            guard !numbers.isEmpty else { return UserErasure() }
            let days = try await Self.days(of: numbers, in: subject.space, transaction)
            var day = max(days.lowerBound, after ?? days.lowerBound)
            let end = ContinuousClock.now + Self.timePerCall
            while day <= days.upperBound {
                for (chunk, numbers) in Dictionary(grouping: numbers, by: { $0 >> 14 }) {
                    try await Self.clear(numbers, chunk, day..<day + Self.daysPerStatement, subject.space, transaction)
                }
                day += Self.daysPerStatement
                if day <= days.upperBound, ContinuousClock.now > end { return UserErasure(next: "\(day)") }
            }
            return UserErasure(erased: ["rollUps": try await Self.forget(subject, numbers, transaction)])
        }
    }

    private static func day(_ text: String) throws -> Int {
        guard let day = Int(text), (0...1_000_000).contains(day) else {
            throw ServiceError(.invalidBody, "Expected a position returned by an earlier call.", field: "after")
        }
        return day
    }

    private static func numbers(of subject: UserSubjects.Subject, _ transaction: PostgresTransaction) async throws
        -> [Int]
    {
        try await transaction.query(
            "SELECT DISTINCT number FROM analytics.person_numbers WHERE space = \(subject.space.id) AND person = ANY (\(subject.persons))"
        ).map { try $0.decode(0) }
    }

    /// The days on which these persons may have been seen in any time zone, counted from 1970.
    private static func days(of numbers: [Int], in space: Space, _ transaction: PostgresTransaction) async throws
        -> ClosedRange<Int>
    {
        let rows = try await transaction.query(
            """
            SELECT floor(extract(epoch FROM least(min(first_at), now())) / 86400)::int - 1, floor(extract(epoch FROM now()) / 86400)::int + 1
            FROM analytics.person_starts WHERE space = \(space.id) AND number = ANY (\(numbers))
            """)
        guard let row = rows.first else { return 0...0 }
        return max(0, try row.decode(0, as: Int.self))...(try row.decode(1, as: Int.self))
    }

    private static func clear(
        _ numbers: [Int], _ chunk: Int, _ days: Range<Int>, _ space: Space, _ transaction: PostgresTransaction
    ) async throws {
        let slots = [(dimensions, days), ([Int(Dimension.hour.rawValue)], days.lowerBound * 24..<days.upperBound * 24)]
        for (dimensions, slots) in slots {
            try await transaction.execute(
                """
                UPDATE analytics.people_sets AS s SET members = s.members & ~ mine.bits
                FROM (SELECT bit_or(set_bit(B'0'::bit(16384), (number & 16383)::int, 1)) AS bits FROM unnest(\(numbers)) AS number) AS mine
                WHERE s.space = \(space.id) AND s.dimension = ANY (\(dimensions)) AND s.slot >= \(slots.lowerBound) AND s.slot < \(slots.upperBound)
                    AND s.chunk = \(chunk) AND bit_count(s.members & mine.bits) > 0
                """)
        }
    }

    /// Deletes the numbers, which may then be given to other persons.
    private static func forget(_ subject: UserSubjects.Subject, _ numbers: [Int], _ transaction: PostgresTransaction)
        async throws -> Int
    {
        for table in ["analytics.person_starts", "analytics.sessions"] as [PostgresQuery] {
            try await transaction.execute(
                "DELETE FROM \(table) WHERE space = \(subject.space.id) AND number = ANY (\(numbers))")
        }
        return try await transaction.execute(
            "DELETE FROM analytics.person_numbers WHERE space = \(subject.space.id) AND person = ANY (\(subject.persons))"
        )
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let subject = try await subjects.subject(of: request)
        let rows = try await postgres.query(
            """
            SELECT jsonb_build_object('first', first_at, 'sessions', coalesce((
                SELECT jsonb_agg(jsonb_build_object('started', v.started, 'ended', v.ended) ORDER BY v.started) FROM analytics.sessions AS v
                WHERE v.space = s.space AND v.number = s.number), '[]'))::text
            FROM analytics.person_starts AS s WHERE s.space = \(subject.space.id) AND s.number IN (
                SELECT number FROM analytics.person_numbers WHERE space = \(subject.space.id) AND person = ANY (\(subject.persons))) ORDER BY s.number LIMIT 1000
            """)
        var lines = ByteBuffer()
        for row in rows { lines.writeUserData("presence", of: .analytics, try row.decode(0)) }
        return UserDataPortion(lines: lines)
    }
}
