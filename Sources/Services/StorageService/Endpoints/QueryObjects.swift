import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /storage/query/{collection}[/{skip}/{limit}]`: the body is the filter, the parameters are those of
/// `ListObjects`.
struct QueryObjects: Endpoint {
    static let maximumFilterSizeInBytes = 64 << 10

    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights)
        var query = try ListQuery(request.uri.queryParameters, in: scope)
        if let skip = context.parameters.get("id"), let limit = context.parameters.get("limit") {
            try query.setPage(skip: skip, limit: limit)
        }
        let filter = try await request.json(upTo: Self.maximumFilterSizeInBytes)
        try query.add(filter, in: scope)
        return envelope.response(try await objects.list(query, in: scope), of: scope.space)
    }
}
