import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadUser: Endpoint {
    static let route = Route(
        .get, "/auth/users/{id}", "readUser", "Returns a user.",
        callers: .clientOrStaff([.read], .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: """
            The app's server and staff get the complete user. Other callers get the public data only, and a disabled user \
            is not found.
            """,
        answers: [
            .answer(200, "The user.", .json(.user))
        ],
        errors: [404: "The app has no such user (`user-not-found`)."])

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.userID)
        let isComplete = try context.principal.hasServerRights
        guard let user = isComplete ? try await users.find(id, in: space) : try await users.findPublic(id, in: space)
        else {
            throw ServiceError(.userNotFound)
        }
        return .json(user)
    }
}
