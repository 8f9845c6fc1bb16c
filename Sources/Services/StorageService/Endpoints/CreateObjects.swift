import Hummingbird
import MartletHTTP

/// `POST /storage/all/{collection}`: stores an array of objects, all or none; ids as in `CreateObject`.
///
/// Answers the envelope with the objects as they are stored, in the order sent.
struct CreateObjects: Endpoint {
    let objects: ObjectStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let scope = try await context.scope(rights)
        let documents = try Documents(try await request.wholeBody(upTo: Document.maximumBatchSizeInBytes))
        return Envelope.response(try await objects.createAll(documents, in: scope), status: .created)
    }
}
