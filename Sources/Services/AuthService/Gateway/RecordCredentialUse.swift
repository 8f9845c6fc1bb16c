import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Stores when each credential in a `CredentialUse` was last used.
struct RecordCredentialUse: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/credentials/used")

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let use = try await request.decoded(CredentialUse.self, upTo: 4 << 20)
        var used: [UUID: Date] = [:]
        for (id, time) in use.used {
            guard let id = UUID(uuidString: id) else {
                throw ServiceError(.invalidBody, "Expected the UUID of a credential.", field: "used")
            }
            used[id] = time
        }
        try await credentials.recordUse(used)
        return Response(status: .noContent)
    }
}
