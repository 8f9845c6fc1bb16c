import Hummingbird
import MartletAPI
import MartletHTTP

/// `PATCH /storage/{collection}/{id}`: sets the fields in the body, carries out its operations and leaves the other fields.
///
/// `If-Match` holds it back when the object has another entity tag, 412. Answers the object as it is stored.
struct ChangeObject: Endpoint {
    let objects: ObjectStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        let precondition = try Precondition(request)
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let document = try Document(body, replacing: id, allowingOperations: true)
        guard let written = try await objects.change(id, by: document, if: precondition, in: scope) else {
            throw HTTPProblem(.objectNotFound)
        }
        return try .object(written)
    }
}
