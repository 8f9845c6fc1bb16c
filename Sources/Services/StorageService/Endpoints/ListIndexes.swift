import Hummingbird
import MartletHTTP

/// `GET /collections/{collection}/indexes`: those made by `CreateIndex`, and those that are being built or failed;
/// master key.
struct ListIndexes: Endpoint {
    let indexes: IndexStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        return try .list(try await indexes.list(on: context.collection, of: context.managedSpace))
    }
}
