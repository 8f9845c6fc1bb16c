import Hummingbird
import MartletHTTP

/// `GET
/// /storage/{collection}[/{skip}/{limit}]?where=&order=&limit=&skip=&cursor=&keys=&excludeKeys=&include=&count=&deleted=`
///
/// Answers the envelope of A2; a collection that was never written to is empty.
struct ListObjects: Endpoint {
    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights)
        var query = try ListQuery(request.uri.queryParameters, in: scope)
        if let skip = context.parameters.get("id"), let limit = context.parameters.get("limit") {
            try query.setPage(skip: skip, limit: limit)
        }
        return envelope.response(try await objects.list(query, in: scope), of: scope.space)
    }
}
