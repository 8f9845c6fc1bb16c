import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The sessions that ended after number `after`; 204 if none ends within `wait` seconds (0 to 30).
///
/// With `after=-1`, the answer has every session whose end still matters, without waiting.
struct ReadRevocations: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/revocations")

    let feed: RevocationFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try FeedQuery(request, default: -1)
        guard feed.isReady else { throw ServiceError(.unavailable) }
        guard let update = await feed.revocations(after: query.after, wait: query.wait) else {
            return Response(status: .noContent)
        }
        return try .encoding(update)
    }
}
