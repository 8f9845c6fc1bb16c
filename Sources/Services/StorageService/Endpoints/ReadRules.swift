import Hummingbird
import MartletCore
import MartletHTTP

/// `GET /collections/{collection}/rules`: `{"rules":{…},"hidden":{…},"defaults":{…}}`; master key.
struct ReadRules: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/rules", "readRules", "Who may do what in a collection.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        answers: [
            .answer(200, "The rules.", .json(.rules))
        ],
        errors: [404: "There is no such collection (`collection-not-found`)."])

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .json(try await rules.read(context.collection, of: context.managedSpace).json.text)
    }
}
