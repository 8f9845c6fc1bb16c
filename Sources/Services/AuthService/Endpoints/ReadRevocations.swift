import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /internal/revocations?after=<last>&wait=<seconds, 0…30>`: the sessions that ended since, else 204 after the wait.
///
/// For our own processes only. `after=-1` gets all that count still, at once.
struct ReadRevocations: Endpoint {
    let feed: RevocationFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .service else { throw HTTPProblem(.forbidden) }
        let parameters = request.uri.queryParameters
        guard let after = Int64(parameters["after"] ?? "-1") else { throw HTTPProblem(.invalidParameter, field: "after") }
        guard let wait = Int(parameters["wait"] ?? "0"), (0...30).contains(wait) else {
            throw HTTPProblem(.invalidParameter, "It must be a whole number from 0 to 30.", field: "wait")
        }
        guard feed.isReady else { throw HTTPProblem(.unavailable) }
        guard let news = await feed.revocations(after: after, wait: .seconds(wait)) else { return Response(status: .noContent) }
        return try .encoding(news)
    }
}
