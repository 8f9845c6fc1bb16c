import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /auth/users/{id}`, for the app's own server; otherwise as `DeleteMe`.
struct DeleteUser: Endpoint {
    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .receipt(try await deletions.begin(try context.userID, in: try context.managedUserSpace))
    }
}
