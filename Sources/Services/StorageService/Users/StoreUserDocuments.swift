import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Stores public profiles in `_User`. They may arrive more than once and in any order: a version that is not newer than
/// the stored one is ignored. For our own processes only.
struct StoreUserDocuments: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/documents")

    /// JSON in JSON may be twice as long; a single profile has at most 64 KiB.
    private static let maximumSizeInBytes = 4 << 20

    let documents: UserDocumentStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await request.decoded(UserDocuments.self, upTo: Self.maximumSizeInBytes)
        guard body.users.count <= UserDocuments.maximumUsers else {
            throw ServiceError(.limitExceeded, field: "users")
        }
        let principal = Principal(
            kind: .service, appID: body.app, appNumber: 0, environment: body.environment, credentialID: "")
        guard let space = try? AppSchema(principal) else {
            throw ServiceError.unexpectedMember("app", expected: "an app's id", found: body.app)
        }
        try await documents.store(body.users, in: space)
        return .json("{}")
    }
}
