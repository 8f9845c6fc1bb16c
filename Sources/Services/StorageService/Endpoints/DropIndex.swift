import Hummingbird
import MartletHTTP

/// `DELETE /collections/{collection}/indexes/{index}`, 204; master key.
struct DropIndex: Endpoint {
    let indexes: IndexStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        try await indexes.drop(context.component("index"), on: context.collection, of: context.managedSpace)
        return Response(status: .noContent)
    }
}
