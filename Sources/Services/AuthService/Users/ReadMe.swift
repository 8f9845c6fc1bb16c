import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadMe: Endpoint {
    static let route = Route(
        .get, "/auth/me", "readMe", "Returns the signed-in user.", callers: .user,
        answers: [
            .answer(200, "The user with the private profile.", .json(.user))
        ])

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let user = try await users.find(try context.signedInUser, in: try context.userSpace) else {
            throw ServiceError(.userNotFound)
        }
        return .json(user)
    }
}
