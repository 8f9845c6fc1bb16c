import Hummingbird
import MartletHTTP

/// `GET
/// /storage/{collection}[/{skip}/{limit}]?where=&order=&limit=&skip=&cursor=&keys=&excludeKeys=&include=&count=&deleted=`
///
/// Answers the envelope of A2; a collection that was never written to is empty.
struct ListObjects: Endpoint {
    static let route = Route(
        .get, "/storage/{collection}", "listObjects", "A page of a collection's objects.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .filter,
            .order,
            .limit,
            .skip,
            .cursor,
            .keys,
            .excludeKeys,
            .include,
            .count,
            .deleted,
        ],
        details: "A collection that was never written to is empty.",
        answers: [
            .page
        ])
    static let listObjectsPage = Route(
        .get, "/storage/{collection}/{skip}/{limit}", "listObjectsPage",
        "A page of a collection's objects, the page given in the path.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("skip", .integer.range(0, 1_000_000)),
            .path("limit", .integer.range(0, 1_000)),
            .filter,
            .order,
            .limit,
            .skip,
            .cursor,
            .keys,
            .excludeKeys,
            .include,
            .count,
            .deleted,
        ],
        details: "The page in the path wins over `skip` and `limit` among the query parameters.",
        answers: [
            .page
        ])

    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights)
        var query = try ListQuery(request.uri.queryParameters, in: scope)
        if let skip = context.parameters.get("skip"), let limit = context.parameters.get("limit") {
            try query.setPage(skip: skip, limit: limit)
        }
        return envelope.response(try await objects.list(query, in: scope), of: scope.space)
    }
}
