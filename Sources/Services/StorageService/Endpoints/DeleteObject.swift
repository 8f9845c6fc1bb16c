import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /storage/{collection}/{id}`: deletes the object for good, 204.
struct DeleteObject: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        guard try await objects.delete(context.objectID, in: context.collection, of: context.space) else {
            throw HTTPProblem(.objectNotFound)
        }
        return Response(status: .noContent)
    }
}
