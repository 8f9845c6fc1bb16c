import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `DELETE /auth/me` with `password`, which not everybody has; 202 with a receipt. Account, profile and sessions are
/// gone at once, what other services hold of the user soon, and Apple is told.
struct DeleteMe: Endpoint {
    static let route = Route(
        .delete, "/auth/me", "deleteMe",
        "Deletes the account with its sessions, then what every service holds of the user.", callers: .user,
        details: "Needs the password, where there is one. What of it is done can be read with the receipt.",
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(202, "It has begun; the token is shown this once.", .json(.newReceipt))
        ])

    let check: PasswordCheck
    let deletions: DeletionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password"], isOptional: true)
        _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
        return try .receipt(try await deletions.begin(id, in: space))
    }
}

extension Response {
    /// `{"id","state","token"}`, 202.
    ///
    /// - Throws: `user-not-found` where there is none.
    static func receipt(_ receipt: DeletionStore.Receipt?) throws -> Response {
        guard let receipt else { throw HTTPProblem(.userNotFound) }
        return receipt.token.withValue { token in
            var response = Response.json(
                #"{"id":"\#(receipt.id.uuidString.lowercased())","state":"erasing","token":"\#(token)"}"#)
            response.status = .accepted
            return response.notStored
        }
    }
}
