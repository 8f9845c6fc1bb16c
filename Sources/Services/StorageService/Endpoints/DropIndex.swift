import Hummingbird
import MartletHTTP

/// `DELETE /collections/{collection}/indexes/{index}`, 204; master key.
struct DropIndex: Endpoint {
    let indexes: IndexStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let space = try context.managedSpace
        try await indexes.drop(context.component("index"), on: context.collection, of: space)
        rights.forget(space)
        return Response(status: .noContent)
    }
}
