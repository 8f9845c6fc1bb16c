import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

extension Spaces {
    /// Whose data is asked for: the id as it is written in every table.
    ///
    /// - Throws: `invalid-body` for what can be no app or user; `PostgresError`.
    func owner(of request: UserDataRequest) async throws -> (user: String, space: Space) {
        guard (1...32).contains(request.app.utf8.count) else {
            throw HTTPProblem(.invalidBody, "This is no app's id.", field: "app")
        }
        guard let user = UUID(uuidString: request.user) else {
            throw HTTPProblem(.invalidBody, "This is no user's id.", field: "user")
        }
        return (user.uuidString.lowercased(), try await space(of: request.app, request.environment))
    }
}

extension UserDataRequest {
    /// The row behind which an export goes on.
    ///
    /// - Throws: `invalid-body`.
    var lastID: UUID? {
        get throws {
            guard let after else { return nil }
            guard let id = UUID(uuidString: after) else {
                throw HTTPProblem(.invalidBody, "There is no such place to go on.", field: "after")
            }
            return id
        }
    }
}

extension UserErasure {
    /// Where an erasure goes on that finds what is left by itself. Another one each time: the same place twice is taken
    /// for a standstill.
    static var further: String { UUID().uuidString.lowercased() }
}

extension ByteBuffer {
    /// A line of an export.
    ///
    /// - Parameter json: an object, on one line.
    mutating func writeUserData(_ kind: String, _ json: String) {
        writeString(#"{"service":"notifications","kind":"\#(kind)","data":\#(json)}"# + "\n")
    }
}
