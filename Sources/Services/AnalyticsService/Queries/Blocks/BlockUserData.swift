import MartletAPI
import MartletHTTP
import MartletPostgres

/// Blocks are made of events, and handed out as those. One that tells of a user who is erased is emptied, and made
/// again of the events that are left.
struct BlockUserData: UserDataHolder {
    private static let timePerCall: Duration = .seconds(2)
    private static let blocksPerStatement = 50

    let postgres: PostgresClient
    let subjects: UserSubjects

    /// Behind the events. A call looks through blocks in the order of their ids, for two seconds at most.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        var last = try request.after.map { try Self.id($0) } ?? 0
        let subject = try await subjects.subject(of: request)
        let persons = Set(subject.persons.map { UInt64(bitPattern: Int64($0)) })
        return try await postgres.withTransaction { transaction in
            // A block that is being made may be of events that are erased already; the next one is not.
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
                // What they were made of is counted where it was erased.
                if rows.count < Self.blocksPerStatement { return UserErasure() }
                if ContinuousClock.now > end { return UserErasure(next: "\(last)") }
            }
        }
    }

    func export(_ request: UserDataRequest) -> UserDataPortion { UserDataPortion() }

    private static func id(_ text: String) throws -> Int {
        guard let id = Int(text), id >= 0 else {
            throw HTTPProblem(.invalidBody, "There is no such place to go on.", field: "after")
        }
        return id
    }

    private static func has(_ persons: Set<UInt64>, _ bytes: UnsafeRawBufferPointer?) -> Bool {
        // What cannot be read is made again.
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
