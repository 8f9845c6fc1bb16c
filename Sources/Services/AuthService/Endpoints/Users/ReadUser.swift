import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/users/{id}`: the public part, for everybody who uses the app; all of it for the app's own server.
struct ReadUser: Endpoint {
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
