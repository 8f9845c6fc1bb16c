import Hummingbird
import MartletCore
import MartletHTTP

/// `POST /storage/distinct/{collection}`: each value of a field once; the body is an `DistinctQuery`.
///
/// Needs the rights to find and to count; a hidden field is refused. Answers the envelope with the values.
struct DistinctValues: Endpoint {
    static let route = Route(
        .post, "/storage/distinct/{collection}", "distinctValues", "Each value of a field once.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        body: .json(.object),
        answers: [
            .page
        ])

    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights)
        let value = try await request.json(upTo: QueryObjects.maximumFilterSizeInBytes)
        return envelope.response(
            try await objects.summarize(try DistinctQuery(value, in: scope), in: scope), of: scope.space)
    }
}
