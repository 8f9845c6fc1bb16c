import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /internal/keyring?after=<version>&wait=<seconds, 0…30>`: the key ring when it is newer, else 204 after the wait.
///
/// For our own processes only.
struct ReadKeyRing: Endpoint {
    let feed: KeyRingFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .service else { throw HTTPProblem(.forbidden) }
        let parameters = request.uri.queryParameters
        guard let after = Int64(parameters["after"] ?? "0") else { throw HTTPProblem(.invalidParameter, field: "after") }
        guard let wait = Int(parameters["wait"] ?? "0"), (0...30).contains(wait) else {
            throw HTTPProblem(.invalidParameter, "It must be a whole number from 0 to 30.", field: "wait")
        }
        guard feed.current != nil else { throw HTTPProblem(.unavailable) }
        guard let ring = await feed.ring(after: after, wait: .seconds(wait)) else { return Response(status: .noContent) }
        return try .encoding(ring)
    }
}
