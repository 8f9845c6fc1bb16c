import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /storage/query/{collection}[/{skip}/{limit}]`: the body is the filter, the parameters are those of `ListObjects`.
struct QueryObjects: Endpoint {
    static let maximumFilterSizeInBytes = 64 << 10

    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        var query = try ListQuery(request.uri.queryParameters)
        if let skip = context.parameters.get("id"), let limit = context.parameters.get("limit") {
            try query.setPage(skip: skip, limit: limit)
        }
        let collection = try context.collection
        let body = try await request.wholeBody(upTo: Self.maximumFilterSizeInBytes)
        let filter = try checked { () throws(JSONError) in try JSONValue(parsing: body.readableBytesView) }
        query.condition = try FilterCompiler.condition(filter)
        return Envelope.response(try await objects.list(query, in: collection, of: context.space))
    }
}
