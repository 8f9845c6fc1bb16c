import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /internal/config/live?after=<number>&wait=<seconds, 0…30>`: `LiveVersions` when they are others, else 204 after the wait.
///
/// For our own processes only.
struct ReadLiveVersions: Endpoint {
    let feed: LiveVersionsFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try FeedQuery(request, context, default: -1)
        guard feed.isRead else { throw HTTPProblem(.unavailable) }
        guard let versions = await feed.versions(after: query.after, wait: query.wait) else { return Response(status: .noContent) }
        return try .encoding(versions)
    }
}
