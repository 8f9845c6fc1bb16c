import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListSessionsOfUser: Endpoint {
    static let route = Route(
        .get, "/auth/users/{id}/sessions", "listSessionsOfUser", "Lists a user's open sessions, newest first.",
        callers: .manager(.read, .users),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The open sessions. None of them is `current`.", .json(.sessions))
        ],
        errors: [404: "The app has no such user (`user-not-found`)."])

    let users: UserStore
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        .page(try await sessions.list(of: try await users.person(context), current: nil))
    }
}

struct EndSessionsOfUser: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}/sessions", "endSessionsOfUser", "Ends all sessions of a user.",
        callers: .manager(.update, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: "The user can sign in again. To prevent it, disable the user.",
        answers: [
            .answer(200, "The number of sessions that ended.", .json(.count))
        ],
        errors: [404: "The app has no such user (`user-not-found`)."])

    let users: UserStore
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let count = try await sessions.end(of: try await users.person(context))
        return .json(#"{"count":\#(count)}"#)
    }
}

extension UserStore {
    /// The user in the path.
    ///
    /// - Throws: `user-not-found`.
    fileprivate func person(_ context: ServiceContext) async throws -> Person {
        let (space, id) = (try context.userSpace, try context.userID)
        guard try await account(id, in: space) != nil else { throw ServiceError(.userNotFound) }
        return .user(id, space)
    }
}
