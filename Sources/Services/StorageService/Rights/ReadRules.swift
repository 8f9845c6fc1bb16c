import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadRules: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/rules", "readRules", "Returns the access rules of a collection.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(200, "The rules.", .json(.rules))
        ],
        errors: [404: "The app has no such collection (`collection-not-found`)."])

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .json(try await rules.read(context.collection, of: context.space).json.text)
    }
}
