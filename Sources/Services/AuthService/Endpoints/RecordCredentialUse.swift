import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /internal/credentials/used` with `CredentialUse`, 204. For our own processes only.
struct RecordCredentialUse: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/credentials/used")

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let use = try await request.decoded(CredentialUse.self, upTo: 4 << 20)
        var used: [UUID: Date] = [:]
        for (id, time) in use.used {
            guard let id = UUID(uuidString: id) else {
                throw HTTPProblem(.invalidBody, "Not a credential's id.", field: "used")
            }
            used[id] = time
        }
        try await credentials.recordUse(used)
        return Response(status: .noContent)
    }
}
