import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /internal/config/live?after=<number>&wait=<seconds, 0…30>`: `LiveVersions` when they are others, else 204 after
/// the wait.
///
/// For our own processes only.
struct ReadLiveVersions: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/config/live")

    let feed: LiveVersionsFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try FeedQuery(request, context, default: -1)
        // A copy without its database knows nothing of what others publish: who follows asks another one.
        guard feed.isCurrent else { throw HTTPProblem(.unavailable) }
        guard let versions = await feed.versions(after: query.after, wait: query.wait) else {
            guard feed.isCurrent else { throw HTTPProblem(.unavailable) }
            return Response(status: .noContent)
        }
        return try .encoding(versions)
    }
}
