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
        let body = try await request.decoded(UserDataRequest.self)
        guard (1...32).contains(body.app.utf8.count) else {
            throw ServiceError.unexpectedMember("app", expected: "an app's id", found: body.app)
        }
        // An app that manages its own users has its own ids. This service stores none of these users.
        guard let user = UUID(uuidString: body.user) else { return .json("{}") }
        return .json(
            try await users.profile(user, in: AppSpace(appID: body.app, environment: body.environment)) ?? "{}")
    }
}
