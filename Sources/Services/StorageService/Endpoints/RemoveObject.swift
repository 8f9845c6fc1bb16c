import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /storage/remove/{collection}/{id}`: marks the object removed; `deleted=true` still reads it.
struct RemoveObject: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let rows = try await objects.remove(context.objectID, in: context.collection, of: context.space)
        guard let rows, !rows.isEmpty else { throw HTTPProblem(.objectNotFound) }
        return .object(rows)
    }
}
