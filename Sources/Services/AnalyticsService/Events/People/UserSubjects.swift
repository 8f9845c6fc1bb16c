import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres

/// Who a user is among the persons of events.
struct UserSubjects: Sendable {
    private static let maximumPersons = 10_000

    let postgres: PostgresClient
    let spaces: Spaces
    let salts: Salts

    struct Subject: Sendable {
        var space: Space
        var account: Int64
        /// The account and all that turned out to be it, directly or by another one.
        var known: [Int]
        /// Those, and who they are for a day where nobody is to be known for longer, of the days whose salts are still
        /// there.
        var persons: [Int]
    }

    /// - Throws: `invalid-body`.
    func subject(of request: UserDataRequest) async throws -> Subject {
        guard (1...32).contains(request.app.utf8.count) else {
            throw HTTPProblem(.invalidBody, "This is no app's id.", field: "app")
        }
        guard let user = UUID(uuidString: request.user) else {
            throw HTTPProblem(.invalidBody, "This is no user's id.", field: "user")
        }
        let space = try await spaces.space(of: request.app, request.environment)
        let account = Person.account(user.uuidString, in: space)
        let known: [Int] = try await postgres.query(
            """
            WITH RECURSIVE known AS (
                SELECT \(account) AS person
                UNION SELECT p.person FROM known JOIN analytics.people AS p ON p.space = \(space.id) AND p.account = known.person AND p.account <> 0)
            SELECT person FROM known LIMIT \(Self.maximumPersons)
            """
        ).map { try $0.decode(0) }
        let daily = try await salts.all().flatMap { salt in
            known.map { Int(Person.visitor("\($0)", salt: salt, in: space)) }
        }
        return Subject(space: space, account: account, known: known, persons: known + daily)
    }
}
