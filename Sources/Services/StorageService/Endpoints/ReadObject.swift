import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /storage/{collection}/{id}?keys=&deleted=`
struct ReadObject: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["keys", "deleted"])
        let query = try ListQuery(request.uri.queryParameters)
        let rows = try await objects.find(
            context.objectID, keys: query.keys, includingDeleted: query.includesDeleted, in: context.collection,
            of: context.space)
        guard let rows, !rows.isEmpty else { throw HTTPProblem(.objectNotFound) }
        return .object(rows)
    }
}
