import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The attributes of a user that conditions in other services test; `{}` if the user does not exist or is disabled.
struct ReadProfileOfUser: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/profile")

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let asked = try await request.decoded(UserDataRequest.self)
        guard (1...32).contains(asked.app.utf8.count) else {
            throw ServiceError(.invalidBody, "This must be an app's id.", field: "app")
        }
        // An app that manages its own users has its own ids; this service knows nothing about them.
        guard let user = UUID(uuidString: asked.user) else { return .json("{}") }
        return .json(
            try await users.profile(user, in: AppSpace(appID: asked.app, environment: asked.environment)) ?? "{}")
    }
}
