import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadReceipt: Endpoint {
    static let route = Route(
        .get, "/auth/receipts/{id}", "readReceipt", "Returns the state of a user's deletion.",
        callers: .clientOrStaff([.read], .users),
        parameters: [
            .path("id", .uuid),
            .header("Receipt-Token", .string, "The `token` from the answer to the deletion.", isRequired: true),
        ],
        details: """
            Needs no access token, because the user no longer exists. The receipt is kept for 90 days after the \
            deletion is complete.
            """,
        answers: [
            .answer(200, "The progress, and what each service has erased.", .json(.receipt))
        ],
        errors: [404: "There is no such receipt, or the token is wrong (`not-found`)."])

    private static let token = HTTPField.Name(HeaderName.receiptToken)!

    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            let token = request.headers[Self.token],
            let receipt = try await deletions.read(id, token: Secret(token), in: space)
        else { throw ServiceError(.notFound) }
        return Response.json(receipt).notStored
    }
}
