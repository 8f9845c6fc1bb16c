import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Long polling for other services: `?after=<number>&wait=<seconds, 0…30>` returns `LiveVersions` as soon as their
/// number differs from `after`, or 204 when the wait ends.
struct ReadLiveVersions: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/config/live")

    let feed: LiveVersionsFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try FeedQuery(request, default: -1)
        // Without its database, this instance misses what others publish; the caller must ask another one.
        guard feed.isCurrent else { throw ServiceError(.unavailable) }
        guard let versions = await feed.versions(after: query.after, wait: query.wait) else {
            guard feed.isCurrent else { throw ServiceError(.unavailable) }
            return Response(status: .noContent)
        }
        return try .encoding(versions)
    }
}
