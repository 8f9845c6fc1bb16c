import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/receipts/{id}` with the receipt's token in `Receipt-Token`: how far a deletion is, and what was erased by
/// service.
///
/// Needs no user, who is gone. 404 `not-found` for a wrong token, too.
struct ReadReceipt: Endpoint {
    static let route = Route(
        .get, "/auth/receipts/{id}", "readReceipt", "How far the deletion of an account is, and what was erased.",
        callers: .client,
        parameters: [
            .path("id", .uuid),
            .header("Receipt-Token", .string, "As the deletion answered.", isRequired: true),
        ],
        details: "404 for a wrong token, too. Kept for 90 days behind the end.",
        answers: [
            .answer(200, "Done.", .json(.receipt))
        ])

    private static let token = HTTPField.Name(HeaderName.receiptToken)!

    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            let token = request.headers[Self.token],
            let receipt = try await deletions.read(id, token: Secret(token), in: space)
        else { throw HTTPProblem(.notFound) }
        return Response.json(receipt).notStored
    }
}
