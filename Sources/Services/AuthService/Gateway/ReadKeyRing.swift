import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The key ring, as soon as its version is not `after`; 204 if it does not change within `wait` seconds (0 to 30).
struct ReadKeyRing: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/keyring")

    let feed: KeyRingFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try FeedQuery(request, default: 0)
        guard feed.current != nil else { throw ServiceError(.unavailable) }
        guard let ring = await feed.ring(after: query.after, wait: query.wait) else {
            return Response(status: .noContent)
        }
        return try .encoding(ring)
    }
}
