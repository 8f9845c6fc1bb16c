import Foundation
import MartletAPI
import MartletHTTP
import MartletMail
import MartletPostgres

/// A user from elsewhere.
struct ImportedUser: Sendable {
    var user: NewUser
    var isEmailVerified: Bool
    /// Nil: now.
    var created: Date?
}

/// Brings users from elsewhere in.
struct ImportStore: Sendable {
    let postgres: PostgresClient

    enum Outcome: Sendable {
        case created
        /// The space has a user of this id, who was left as they are.
        case existing
        case refused(Problem.Row)
    }

    /// Makes users, all in one transaction.
    ///
    /// - Parameters:
    ///   - users: by their places in the call.
    ///   - isKept: whether what came of it is to stay; else nothing does.
    func run(
        _ users: [(row: Int, user: ImportedUser)], in space: UserSpace, keepingIf isKept: ([Outcome]) -> Bool
    ) async throws -> [Outcome] {
        do {
            return try await postgres.withTransaction(serializationRetries: 3) { transaction in
                var outcomes: [Outcome] = []
                for (row, user) in users { outcomes.append(try await add(user, row: row, in: space, transaction)) }
                guard isKept(outcomes) else { throw NotKept(outcomes: outcomes) }
                return outcomes
            }
        } catch let error as NotKept {
            return error.outcomes
        }
    }

    /// Rolls the transaction back.
    private struct NotKept: Error {
        let outcomes: [Outcome]
    }

    private func add(_ imported: ImportedUser, row: Int, in space: UserSpace, _ transaction: PostgresTransaction)
        async throws -> Outcome
    {
        // A refused row leaves the others as they are.
        try await transaction.execute("SAVEPOINT one")
        do {
            let isNew =
                try await UserStore.tellingConflicts {
                    try await transaction.execute(Self.insertion(of: imported, in: space))
                } > 0
            try await transaction.execute("RELEASE one")
            return isNew ? .created : try await existing(imported.user.id, row: row, in: space, transaction)
        } catch let problem as HTTPProblem {
            try await transaction.execute("ROLLBACK TO one")
            return .refused(Problem.Row(row: row, field: problem.field, reason: problem.detail ?? problem.code.title))
        }
    }

    private static func insertion(of imported: ImportedUser, in space: UserSpace) -> PostgresQuery {
        let user = imported.user
        return """
            INSERT INTO auth.users (id, app_id, environment, user_name, email, email_verified, password, profile, private, created)
            VALUES (\(user.id), \(space.appID), \(space.environment.rawValue), \(user.userName?.text), \(user.email?.text),
                \(imported.isEmailVerified), \(user.passwordHash), \(user.profile)::jsonb, \(user.privateProfile)::jsonb,
                coalesce(\(imported.created), now()))
            ON CONFLICT (id) DO NOTHING
            """
    }

    private func existing(_ id: UUID, row: Int, in space: UserSpace, _ transaction: PostgresTransaction) async throws
        -> Outcome
    {
        let isHere = try await !transaction.query(
            "SELECT FROM auth.users AS u WHERE id = \(id) AND \(UserStore.isIn(space))"
        ).isEmpty
        return isHere ? .existing : .refused(Problem.Row(row: row, field: "id", reason: "This id cannot be taken."))
    }
}
