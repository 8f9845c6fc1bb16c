import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

struct QueryObjects: DirectEndpoint {
    static let route = Route(
        .post, "/storage/query/{collection}", "queryObjects", "Lists the objects that match a filter in the body.",
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
        body: .json(.filter, text: "A filter of at most 64 KiB. If `where` is given, both must match."),
        answers: [
            .page
        ])
    static let queryObjectsPage = Route(
        .post, "/storage/query/{collection}/{skip}/{limit}", "queryObjectsPage",
        "Lists the objects that match a filter in the body, with `skip` and `limit` in the path.",
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
        body: .json(.filter, text: "A filter of at most 64 KiB. If `where` is given, both must match."),
        answers: [
            .page
        ])

    static let maximumFilterSizeInBytes = 64 << 10

    let objects: ObjectStore
    let rights: RightsStore
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights, for: [.find])
        var query = try ListQuery(request.uri.queryParameters, in: scope)
        if let skip = context.parameters.get("skip"), let limit = context.parameters.get("limit") {
            try query.setPage(skip: skip, limit: limit)
        }
        let filter = try await request.json(upTo: Self.maximumFilterSizeInBytes)
        try query.add(filter, in: scope)
        return envelope.response(try await objects.list(query, in: scope), of: scope.space)
    }

    func start(
        _ direct: DirectRequest, completion: @escaping @Sendable (Result<DirectAnswer?, any Error>) -> Void
    ) -> Bool {
        guard let scope = rights.cachedScope(of: direct, for: .find),
            var query = try? ListQuery(direct, in: scope),
            let filter = try? JSONValue(parsing: direct.body.readableBytesView),
            (try? query.add(filter, in: scope)) != nil
        else { return false }
        return objects.startListing(query, in: scope, usage: direct.usage) { result in
            completion(result.map { page in page.map { envelope.answer($0, of: scope.space) } })
        }
    }
}
