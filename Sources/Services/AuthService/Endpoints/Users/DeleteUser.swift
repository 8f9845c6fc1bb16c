import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /auth/users/{id}`, for the app's own server; otherwise as `DeleteMe`.
struct DeleteUser: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}", "deleteUser",
        "Deletes a user with all sessions, then what every service holds of them.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs the master key.",
        answers: [
            .answer(202, "It has begun; the token is shown this once.", .json(.newReceipt))
        ])

    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .receipt(try await deletions.begin(try context.userID, in: try context.managedUserSpace))
    }
}
