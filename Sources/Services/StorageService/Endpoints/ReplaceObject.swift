import Hummingbird
import MartletAPI
import MartletHTTP

/// `PUT /storage/{collection}/{id}`: the body takes the place of the stored document.
struct ReplaceObject: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (collection, id) = (try context.collection, try context.objectID)
        let document = try Document(try await request.wholeBody(upTo: Document.maximumSizeInBytes), replacing: id)
        let rows = try await objects.replace(id, with: document, in: collection, of: context.space)
        guard let rows, !rows.isEmpty else { throw HTTPProblem(.objectNotFound) }
        return .object(rows)
    }
}
