import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// A user to import.
struct ImportedUser: Sendable {
    var user: NewUser
    var isEmailVerified: Bool
    /// Nil for the current time.
    var created: Date?
}

/// Imports users from other systems.
struct ImportStore: Sendable {
    let postgres: PostgresClient

    enum Outcome: Sendable {
        case created
        /// The space already has a user with this id, who was not changed.
        case existing
        case refused(Problem.Row)
    }

    /// Creates users, all in one transaction.
    ///
    /// - Parameters:
    ///   - users: The users with their row numbers in the call.
    ///   - isKept: Decides by the outcomes whether to commit the transaction or to roll it back.
    func run(
        _ users: [(row: Int, user: ImportedUser)], in space: AppSpace, keepingIf isKept: ([Outcome]) -> Bool
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

    /// Thrown to roll the transaction back.
    private struct NotKept: Error {
        let outcomes: [Outcome]
    }

    private func add(_ imported: ImportedUser, row: Int, in space: AppSpace, _ transaction: PostgresTransaction)
        async throws -> Outcome
    {
        // With a savepoint, a refused row does not affect the others.
        try await transaction.execute("SAVEPOINT one")
        do {
            let isNew =
                try await UserStore.mappingConflicts {
                    try await transaction.execute(Self.insertion(of: imported, in: space))
                } > 0
            try await transaction.execute("RELEASE one")
            return isNew ? .created : try await existing(imported.user.id, row: row, in: space, transaction)
        } catch let problem as ServiceError {
            try await transaction.execute("ROLLBACK TO one")
            return .refused(Problem.Row(row: row, field: problem.field, reason: problem.detail ?? problem.code.title))
        }
    }

    private static func insertion(of imported: ImportedUser, in space: AppSpace) -> PostgresQuery {
        let user = imported.user
        return """
            INSERT INTO auth.users (id, app_id, environment, user_name, email, email_verified, password, profile, private, created)
            VALUES (\(user.id), \(space.appID), \(space.environment.rawValue), \(user.userName?.text), \(user.email?.text),
                \(imported.isEmailVerified), \(user.passwordHash), \(user.profile)::jsonb, \(user.privateProfile)::jsonb,
                coalesce(\(imported.created), now()))
            ON CONFLICT (id) DO NOTHING
            """
    }

    private func existing(_ id: UUID, row: Int, in space: AppSpace, _ transaction: PostgresTransaction) async throws
        -> Outcome
    {
        let isHere = try await !transaction.query(
            "SELECT FROM auth.users AS u WHERE id = \(id) AND \(UserStore.isIn(space))"
        ).isEmpty
        return isHere ? .existing : .refused(Problem.Row(row: row, field: "id", reason: "This id is not available."))
    }
}
