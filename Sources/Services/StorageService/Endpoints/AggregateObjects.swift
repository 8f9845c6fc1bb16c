import Hummingbird
import MartletCore
import MartletHTTP

/// `POST /storage/aggregate/{collection}`: counts, sums, averages, least and greatest values, by groups; the body is an
/// `AggregateQuery`.
///
/// Needs the rights to find and to count; a hidden field is refused. Answers the envelope with a row for each group.
struct AggregateObjects: Endpoint {
    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let scope = try await context.scope(rights)
        let value = try await request.json(upTo: QueryObjects.maximumFilterSizeInBytes)
        return envelope.response(
            try await objects.summarize(try AggregateQuery(value, in: scope), in: scope), of: scope.space)
    }
}
