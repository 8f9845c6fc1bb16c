import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `X-HTTP-Method-Override` of tus 1.0, for clients that cannot send `PATCH` or `DELETE`.
struct OverrideTransfer: Endpoint {
    static let route = Route(
        .post, "/files/tus/{id}", "overrideTransfer",
        "Appends bytes to a resumable upload or cancels it, for clients that can only send `POST`.", callers: .client,
        parameters: [
            .header(
                "X-HTTP-Method-Override", .oneOf("PATCH", "DELETE"),
                "`PATCH` for `continueTransfer`, `DELETE` for `deleteTransfer`.", isRequired: true)
        ],
        checksOwnQuery: true,
        details: "The other headers, the body and the answer are those of `continueTransfer` or `deleteTransfer`.",
        body: .contents(.type("application/offset+octet-stream", .bytes), isRequired: false),
        answers: [
            .answer(204, "As `continueTransfer` or `deleteTransfer`.")
        ],
        errors: [
            404: "There is no such upload (`upload-not-found`).", 409: "The upload is at another offset (`conflict`).",
        ])

    private static let method = HTTPField.Name("X-HTTP-Method-Override")!

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        switch request.headers[Self.method] {
        case "PATCH": return try await ContinueTransfer(uploads: uploads, rights: rights).respond(to: request, context)
        case "DELETE": return try await DeleteTransfer(uploads: uploads, rights: rights).respond(to: request, context)
        case let name:
            throw ServiceError.unexpectedParameter(
                Self.method.rawName[...], expected: "PATCH or DELETE", found: name?[...] ?? "")
        }
    }
}
