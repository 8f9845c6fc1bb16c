import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Needs the rights to find and to count, and refuses hidden fields. The envelope has one row for each group.
struct AggregateObjects: Endpoint {
    static let route = Route(
        .post, "/storage/aggregate/{collection}", "aggregateObjects",
        "Returns counts, sums, averages, minima and maxima of the matching objects, by group.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection
        ],
        body: .json(.object),
        answers: [
            .page
        ])

    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights, for: [.find, .count])
        let value = try await request.json(upTo: QueryObjects.maximumFilterSizeInBytes)
        return envelope.response(
            try await objects.summarize(try AggregateQuery(value, in: scope), in: scope), of: scope.space)
    }
}
