import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct DeleteMe: Endpoint {
    static let route = Route(
        .delete, "/auth/me", "deleteMe",
        "Deletes the signed-in user and everything that is stored about the user.", callers: .user,
        details: """
            Requires `password` if the user has one, and otherwise a sign-in within the last ten minutes. The \
            account and its sessions are deleted at once. The other services then delete their data in the \
            background; the receipt shows the progress.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(202, "The deletion has started. The receipt's token is shown only once.", .json(.newReceipt))
        ],
        errors: [
            403: PasswordCheck.refusal
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
    /// `{"id","state","token"}` with status 202.
    ///
    /// - Throws: `user-not-found` if `receipt` is nil.
    static func receipt(_ receipt: DeletionStore.Receipt?) throws -> Response {
        guard let receipt else { throw ServiceError(.userNotFound) }
        return receipt.token.withValue { token in
            var response = Response.json(
                #"{"id":"\#(receipt.id.uuidString.lowercased())","state":"erasing","token":"\#(token)"}"#)
            response.status = .accepted
            return response.notStored
        }
    }
}
