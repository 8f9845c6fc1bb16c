import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /internal/users/profile` with `UserDataRequest`: `{"profile":{…},"emailVerified":…,"anonymous":…}`, what
/// conditions look at; `{}` of who is not there. For our own processes only.
struct ReadProfileOfUser: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/profile")

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let asked = try await request.decoded(UserDataRequest.self)
        guard (1...32).contains(asked.app.utf8.count) else {
            throw HTTPProblem(.invalidBody, "This is no app's id.", field: "app")
        }
        // Users of an app's own have ids of its own: nothing is known of them here.
        guard let user = UUID(uuidString: asked.user) else { return .json("{}") }
        return .json(
            try await users.profile(user, in: UserSpace(appID: asked.app, environment: asked.environment)) ?? "{}")
    }
}
