import MartletAPI
import MartletCore
import MartletPostgres

/// Which users have blocked which, for the variables `$user.blocked` and `$user.blockedBy` of rules.
struct BlockStore: Sendable {
    static let maximumOfUser = 1_000
    /// How many of the users who have blocked one user are returned, for push rules to leave out.
    static let maximumBlockers = 10_000

    let postgres: PostgresClient
    let spaces: Spaces

    struct Block: Codable, Sendable {
        var user: String
        var created: String
    }

    /// Does nothing if the user is blocked already. Does not check whether the other user exists, so that callers
    /// do not find out.
    ///
    /// - Throws: `limit-exceeded` beyond `maximumOfUser`.
    func block(_ other: UserID, by user: String, in space: AppSchema) async throws {
        let table = try space.own("_blocks")
        try await spaces.prepare(space)
        try await postgres.withTransaction(role: space.role) { transaction in
            // Without a lock, many requests at once could pass the limit.
            try await transaction.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(\(space.schema + " blocks " + user), 0))")
            let row = try await transaction.query(
                "SELECT count(*), count(*) FILTER (WHERE blocked = \(other.text)) FROM \(table) WHERE member = \(user)")[
                    0]
            guard try row.decode(1, as: Int.self) == 0 else { return }
            guard try row.decode(0, as: Int.self) < Self.maximumOfUser else {
                throw ServiceError(.limitExceeded, "A user may block at most \(Self.maximumOfUser) others.")
            }
            try await transaction.execute("INSERT INTO \(table) (member, blocked) VALUES (\(user), \(other.text))")
        }
    }

    /// Does nothing if the user is not blocked.
    func unblock(_ other: UserID, by user: String, in space: AppSchema) async throws {
        _ = try await spaces.query(
            "DELETE FROM \(try space.own("_blocks")) WHERE member = \(user) AND blocked = \(other.text)", in: space,
            on: postgres)
    }

    /// The latest first.
    func blocks(of user: String, in space: AppSchema) async throws -> [Block] {
        try await spaces.query(
            """
            SELECT blocked, \(PostgresQuery.rfc3339("created")) FROM \(try space.own("_blocks")) WHERE member = \(user)
            ORDER BY created DESC, blocked LIMIT \(Self.maximumOfUser)
            """, in: space, on: postgres
        ).map { Block(user: try $0.decode(0), created: try $0.decode(1)) }
    }

    /// The users who have blocked a user, at most the first `maximumBlockers`. More are not an error; otherwise someone
    /// with many fake accounts could keep a user's pushes from being sent.
    func blockers(of user: String, in space: AppSchema) async throws -> [String] {
        try await spaces.query(
            """
            SELECT member FROM \(try space.own("_blocks")) WHERE blocked = \(user) ORDER BY created, member
            LIMIT \(Self.maximumBlockers)
            """, in: space, on: postgres
        ).map { try $0.decode(0) }
    }
}
