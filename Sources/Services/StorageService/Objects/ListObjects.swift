import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListObjects: DirectEndpoint {
    static let route = Route(
        .get, "/storage/{collection}", "listObjects", "Lists objects of a collection.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection,
            .filter,
            .order,
            .limit,
            .skip,
            .cursor,
            .keys,
            .excludeKeys,
            .include,
            .count,
            .deleted,
        ],
        details: "A collection that does not exist is empty.",
        answers: [
            .page
        ])
    static let listObjectsPage = Route(
        .get, "/storage/{collection}/{skip}/{limit}", "listObjectsPage",
        "Lists objects of a collection, with `skip` and `limit` in the path.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection,
            .path("skip", .integer.range(0, 1_000_000)),
            .path("limit", .integer.range(0, 1_000)),
            .filter,
            .order,
            .limit,
            .skip,
            .cursor,
            .keys,
            .excludeKeys,
            .include,
            .count,
            .deleted,
        ],
        details: "The `skip` and `limit` in the path take precedence over those in the query.",
        answers: [
            .page
        ])

    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights, for: [.find])
        var query = try ListQuery(request.uri.queryParameters, in: scope)
        if let skip = context.parameters.get("skip"), let limit = context.parameters.get("limit") {
            try query.setPage(skip: skip, limit: limit)
        }
        return envelope.response(try await objects.list(query, in: scope), of: scope.space)
    }

    func start(
        _ direct: DirectRequest, completion: @escaping @Sendable (Result<DirectAnswer?, any Error>) -> Void
    ) -> Bool {
        guard let scope = rights.cachedScope(of: direct, for: .find),
            let query = try? ListQuery(direct, in: scope)
        else { return false }
        return objects.startListing(query, in: scope, usage: direct.usage) { result in
            completion(result.map { page in page.map { envelope.answer($0, of: scope.space) } })
        }
    }
}

extension ListQuery {
    /// The query of a list whose `skip` and `limit` may be in the path.
    init(_ direct: DirectRequest, in scope: QueryScope) throws {
        try self.init(direct.request.uri.queryParameters, in: scope)
        guard direct.parameters.count == 3 else { return }
        try setPage(skip: direct.parameters[1], limit: direct.parameters[2])
    }
}
