import Hummingbird
import MartletCore
import MartletHTTP

/// `POST /storage/aggregate/{collection}`: counts, sums, averages, least and greatest values, by groups; the body is an
/// `AggregateQuery`.
///
/// Needs the rights to find and to count; a hidden field is refused. Answers the envelope with a row for each group.
struct AggregateObjects: Endpoint {
    static let route = Route(
        .post, "/storage/aggregate/{collection}", "aggregateObjects",
        "Counts, sums, averages, least and greatest values of the objects that match, by groups.", callers: .client,
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
            try await objects.summarize(try AggregateQuery(value, in: scope), in: scope), of: scope.space)
    }
}
