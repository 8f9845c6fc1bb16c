import Hummingbird
import MartletCore
import MartletHTTP

/// `GET /collections/{collection}/rules`: `{"rules":{…},"hidden":{…},"defaults":{…}}`; master key.
struct ReadRules: Endpoint {
    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        return .json(try await rules.read(context.collection, of: context.managedSpace).json.text)
    }
}
