import AnalyticsShared
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Finds the person ids under which the events of a user are stored.
struct UserSubjects: Sendable {
    private static let maximumPersons = 10_000

    let postgres: PostgresClient
    let spaces: Spaces
    let salts: Salts

    struct Subject: Sendable {
        var space: Space
        var account: Int64
        /// The account and every person linked to it, directly or through another one.
        var known: [Int]
        /// `known`, and the daily visitor ids of these persons under strict privacy, for the days whose salts still
        /// exist.
        var persons: [Int]
    }

    /// - Throws: `invalid-body`.
    func subject(of request: UserDataRequest) async throws -> Subject {
        guard (1...32).contains(request.app.utf8.count) else {
            throw ServiceError(.invalidBody, "Expected the id of an app.", field: "app")
        }
        guard let user = UUID(uuidString: request.user) else {
            throw ServiceError(.invalidBody, "Expected the id of a user.", field: "user")
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
