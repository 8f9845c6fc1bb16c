import Hummingbird
import MartletHTTP

/// `POST /storage/{collection}`: stores the object in the body, 201; with an `_id` that exists, replaces that one, 200.
///
/// Answers the object as it is stored.
struct CreateObject: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let collection = try context.collection
        let document = try Document(try await request.wholeBody(upTo: Document.maximumSizeInBytes))
        let written = try await objects.create(document, in: collection, of: context.space)
        return .object(written.rows, status: written.isNew ? .created : .ok)
    }
}
