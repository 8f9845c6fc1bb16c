import Hummingbird
import MartletAPI
import MartletHTTP

/// `PATCH /storage/{collection}/{id}`: sets the top-level fields in the body and leaves the others; null is stored as null.
struct ChangeObject: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (collection, id) = (try context.collection, try context.objectID)
        let document = try Document(try await request.wholeBody(upTo: Document.maximumSizeInBytes), replacing: id)
        let rows = try await objects.change(id, by: document, in: collection, of: context.space)
        guard let rows, !rows.isEmpty else { throw HTTPProblem(.objectNotFound) }
        return .object(rows)
    }
}
