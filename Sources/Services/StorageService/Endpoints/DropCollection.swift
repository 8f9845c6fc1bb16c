import Hummingbird
import MartletHTTP

/// `DELETE /collections/{collection}`: drops it with all its objects, 204; master key.
struct DropCollection: Endpoint {
    static let route = Route(
        .delete, "/collections/{collection}", "dropCollection", "Drops a collection with all its objects and indexes.",
        callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        answers: [
            .answer(204, "The collection is gone.")
        ],
        errors: [404: "There is no such collection (`collection-not-found`)."])

    let collections: CollectionStore
    let builds: IndexBuilds
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedSpace
        try await builds.stop(on: context.collection, of: space)
        try await collections.drop(context.collection, of: space)
        rights.forget(space)
        return Response(status: .noContent)
    }
}
