import Hummingbird
import MartletHTTP
import MartletPostgres

/// `POST /storage/all/{collection}`: stores an array of objects, all or none; ids as in `CreateObject`.
///
/// Answers the envelope with the objects as they are stored, in the order sent.
struct CreateObjects: Endpoint {
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let collection = try context.collection
        let body = try await request.wholeBody(upTo: Document.maximumBatchSizeInBytes)
        let ids = try Document.ids(ofEach: body)
        let array = PostgresJSON(Array(body.readableBytesView))
        let page = try await objects.createAll(array, ids: ids, in: collection, of: context.space)
        return Envelope.response(page, status: .created)
    }
}
