import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `PUT /collections/{collection}/rules` with `{"rules"?,"hidden"?,"defaults"?}`: replaces all of them; master key.
///
/// Makes the collection when it is missing. Rules that could never open anything are 400: a role that is not there, a
/// field's name in place of a grantee, a path through a pointer. In force at once in this copy of the service and
/// within a second in the others.
struct SetRules: Endpoint {
    static let route = Route(
        .put, "/collections/{collection}/rules", "setRules",
        "Replaces the collection's rules; makes the collection when it is missing.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        body: .json(.rules),
        answers: [
            .answer(200, "The rules as they are in force.", .json(.rules))
        ])

    private static let maximumSizeInBytes = 64 << 10

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.managedSpace)
        let body = try CollectionRules(try await request.json(upTo: Self.maximumSizeInBytes))
        try body.check()
        try await rules.set(body, on: collection, of: space)
        return .json(body.json.text)
    }
}
