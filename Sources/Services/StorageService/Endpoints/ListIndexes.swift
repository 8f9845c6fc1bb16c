import Hummingbird
import MartletHTTP

/// `GET /collections/{collection}/indexes`: those made by `CreateIndex`, and those that are being built or failed;
/// master key.
struct ListIndexes: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/indexes", "listIndexes", "The indexes made by createIndex.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        answers: [
            .answer(
                200, "In the order they were made.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .index),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "There is no such collection (`collection-not-found`)."])

    let indexes: IndexStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await indexes.list(on: context.collection, of: context.managedSpace))
    }
}
