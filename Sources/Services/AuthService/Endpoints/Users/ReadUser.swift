import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/users/{id}`: the public part, for everybody who uses the app; all of it for the app's own server.
struct ReadUser: Endpoint {
    static let route = Route(
        .get, "/auth/users/{id}", "readUser", "The public part of a user; all of it with the master key.",
        callers: .client,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "Done.", .json(.user))
        ])

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.userID)
        let isMaster = try context.principal.kind == .master
        guard let user = isMaster ? try await users.find(id, in: space) : try await users.findPublic(id, in: space)
        else {
            throw HTTPProblem(.userNotFound)
        }
        return .json(user)
    }
}
