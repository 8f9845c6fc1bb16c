import Hummingbird
import MartletHTTP

/// `DELETE /collections/{collection}`: drops it with all its objects, 204; master key.
struct DropCollection: Endpoint {
    let collections: CollectionStore
    let builds: IndexBuilds
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let space = try context.managedSpace
        try await builds.stop(on: context.collection, of: space)
        try await collections.drop(context.collection, of: space)
        rights.forget(space)
        return Response(status: .noContent)
    }
}
