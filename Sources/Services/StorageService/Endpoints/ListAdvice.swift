import Hummingbird
import MartletHTTP

/// `GET /collections/{collection}/advice`: slow lists that this copy of the service has met, and the index that would serve each; master key.
struct ListAdvice: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        return try .list(objects.advice.list(of: try context.collection, in: try context.managedSpace))
    }
}
