import Hummingbird
import MartletHTTP

/// `DELETE /collections/{collection}/indexes/{index}`, 204; master key.
struct DropIndex: Endpoint {
    static let route = Route(
        .delete, "/collections/{collection}/indexes/{index}", "dropIndex", "Drops an index.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("index", .string.length(1, 128), "The index's name."),
        ],
        answers: [
            .answer(204, "The index is gone.")
        ],
        errors: [
            404: """
            There is no such collection (`collection-not-found`) or no such index (`index-not-found`).
            """
        ])

    let indexes: IndexStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedSpace
        try await indexes.drop(context.component("index"), on: context.collection, of: space)
        rights.forget(space)
        return Response(status: .noContent)
    }
}
