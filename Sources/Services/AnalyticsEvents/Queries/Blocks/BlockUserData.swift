import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Erases users from blocks. A block that contains the user is emptied, and later rebuilt from the remaining events.
/// Nothing is exported from blocks, because the events themselves are.
struct BlockUserData: UserDataHolder {
    private static let timePerCall: Duration = .seconds(2)
    private static let blocksPerStatement = 50

    let postgres: PostgresClient
    let subjects: UserSubjects

    /// Must run after the events have been erased. A call scans blocks in the order of their ids, for at most two
    /// seconds.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        var last = try request.after.map { try Self.id($0) } ?? 0
        let subject = try await subjects.subject(of: request)
        let persons = Set(subject.persons.map { UInt64(bitPattern: Int64($0)) })
        return try await postgres.withTransaction { transaction in
            // Waits for a block that is being built, which may still contain the erased events.
            try await transaction.execute("SELECT FROM analytics.block_reach FOR UPDATE")
            let end = ContinuousClock.now + Self.timePerCall
            while true {
                let rows = try await transaction.query(
                    """
                    SELECT id, persons FROM analytics.blocks WHERE space = \(subject.space.id) AND is_built AND id > \(last)
                    ORDER BY id LIMIT \(Self.blocksPerStatement)
                    """)
                var touched: [Int] = []
                for row in rows {
                    last = try row.decode(0)
                    if row.withBytes(1, { Self.has(persons, $0) }) { touched.append(last) }
                }
                if !touched.isEmpty { try await Self.empty(touched, transaction) }
                // Returns no count, because the erased events have been counted already.
                if rows.count < Self.blocksPerStatement { return UserErasure() }
                if ContinuousClock.now > end { return UserErasure(next: "\(last)") }
            }
        }
    }

    func export(_ request: UserDataRequest) -> UserDataPortion { UserDataPortion() }

    private static func id(_ text: String) throws -> Int {
        guard let id = Int(text), id >= 0 else {
            throw ServiceError(.invalidBody, "Expected a position returned by an earlier call.", field: "after")
        }
        return id
    }

    private static func has(_ persons: Set<UInt64>, _ bytes: UnsafeRawBufferPointer?) -> Bool {
        // A block that cannot be read is rebuilt, too.
        guard let bytes, let found = try? BlockProfiles.persons(bytes) else { return true }
        return found.contains { persons.contains($0) }
    }

    private static func empty(_ blocks: [Int], _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            UPDATE analytics.blocks SET is_built = false, persons = NULL, release = NULL, os = NULL, device = NULL, configuration = NULL, variants = NULL,
                country = NULL WHERE id = ANY (\(blocks))
            """)
        for table in ["analytics.block_names", "analytics.block_properties"] as [PostgresQuery] {
            try await transaction.execute("DELETE FROM \(table) WHERE block = ANY (\(blocks))")
        }
    }
}
