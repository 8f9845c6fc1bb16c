import Hummingbird
import MartletAPI
import MartletHTTP

/// `PATCH /auth/me` with `userName`, `profile` or `private`; each takes the place of what was there. 200 with the user.
struct ChangeMe: Endpoint {
    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["userName", "profile", "private"])
        let change = UserChange(userName: try fields.userName(), profile: try fields.profile(), privateProfile: try fields.privateProfile())
        do {
            guard let user = try await users.change(id, change, in: space) else { throw HTTPProblem(.userNotFound) }
            return .user(user)
        } catch let taken as UserTaken {
            throw HTTPProblem.taken(taken)
        }
    }
}
