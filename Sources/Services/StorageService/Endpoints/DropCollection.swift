import Hummingbird
import MartletHTTP

/// `DELETE /collections/{collection}`: drops it with all its objects, 204; master key.
struct DropCollection: Endpoint {
    let collections: CollectionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        try await collections.drop(context.collection, of: context.managedSpace)
        return Response(status: .noContent)
    }
}
