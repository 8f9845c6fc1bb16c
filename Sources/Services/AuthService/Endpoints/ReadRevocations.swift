import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /internal/revocations?after=<last>&wait=<seconds, 0…30>`: the sessions that ended since, else 204 after the
/// wait.
///
/// For our own processes only. `after=-1` gets all that count still, at once.
struct ReadRevocations: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/revocations")

    let feed: RevocationFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try FeedQuery(request, context, default: -1)
        guard feed.isReady else { throw HTTPProblem(.unavailable) }
        guard let news = await feed.revocations(after: query.after, wait: query.wait) else {
            return Response(status: .noContent)
        }
        return try .encoding(news)
    }
}
