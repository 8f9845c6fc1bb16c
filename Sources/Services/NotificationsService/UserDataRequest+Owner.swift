import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

extension Spaces {
    /// The user id in the form that all tables use, and the space.
    ///
    /// - Throws: `invalid-body` when app or user is malformed; `PostgresError`.
    func owner(of request: UserDataRequest) async throws -> (user: String, space: Space) {
        guard (1...32).contains(request.app.utf8.count) else {
            throw ServiceError(.invalidBody, "Expected an app id.", field: "app")
        }
        guard let user = UUID(uuidString: request.user) else {
            throw ServiceError(.invalidBody, "Expected a user id, a UUID.", field: "user")
        }
        return (user.uuidString.lowercased(), try await space(of: request.app, request.environment))
    }
}

extension UserDataRequest {
    /// The row after which the export continues.
    ///
    /// - Throws: `invalid-body`.
    var lastID: UUID? {
        get throws {
            guard let after else { return nil }
            guard let id = UUID(uuidString: after) else {
                throw ServiceError(
                    .invalidBody, "Expected the next value of the previous answer, a UUID.", field: "after")
            }
            return id
        }
    }
}

extension UserErasure {
    /// A `next` that only says that rows remain: the following call finds them without a cursor. It is random, because
    /// the caller treats a repeated value as a lack of progress.
    static var further: String { UUID().uuidString.lowercased() }
}
