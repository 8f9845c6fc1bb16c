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
    private static let token = HTTPField.Name(HeaderName.receiptToken)!

    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        try request.allowParameters()
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            let token = request.headers[Self.token],
            let receipt = try await deletions.read(id, token: Secret(token), in: space)
        else { throw HTTPProblem(.notFound) }
        return Response.json(receipt).notStored
    }
}
