import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /auth/me`: the user who is signed in, with the private part.
struct ReadMe: Endpoint {
    static let route = Route(
        .get, "/auth/me", "readMe", "The user who is signed in.", callers: .user,
        answers: [
            .answer(200, "Done.", .json(.user))
        ])

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let user = try await users.find(try context.signedInUser, in: try context.userSpace) else {
            throw HTTPProblem(.userNotFound)
        }
        return .json(user)
    }
}
