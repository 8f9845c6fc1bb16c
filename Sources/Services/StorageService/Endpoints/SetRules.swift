import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `PUT /collections/{collection}/rules` with `{"rules"?,"hidden"?,"defaults"?}`: replaces all of them; master key.
///
/// Makes the collection when it is missing. In force at once in this copy of the service and within a second in the others.
struct SetRules: Endpoint {
    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (collection, space) = (try context.collection, try context.managedSpace)
        let body = try await request.decoded(CollectionRules.self)
        try body.check()
        try await rules.set(body, on: collection, of: space)
        return try .encoding(body)
    }
}
