import Hummingbird
import MartletAPI
import MartletHTTP

struct DeleteUser: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}", "deleteUser",
        "Deletes a user and everything that is stored about the user.", callers: .manager(.delete, .users),
        parameters: [
            .path("id", .uuid)
        ], needsConfirmation: true,
        details: """
            The account and its sessions are deleted at once. The other services then delete their data in the \
            background; the receipt shows the progress.
            """,
        answers: [
            .answer(202, "The deletion has started. The receipt's token is shown only once.", .json(.newReceipt))
        ],
        errors: [404: "The app has no such user (`user-not-found`)."])

    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .receipt(try await deletions.begin(try context.userID, in: try context.userSpace))
    }
}
