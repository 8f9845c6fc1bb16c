import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadSchema: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/schema", "readSchema", "Returns the JSON Schema of a collection.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(200, "The schema as it was set.", .json(.jsonSchema))
        ],
        errors: [
            404: """
            The app has no such collection (`collection-not-found`), or the collection has no schema (`not-found`).
            """
        ])

    let schemas: SchemaStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let schema = try await schemas.read(context.collection, of: context.space) else {
            throw ServiceError(.notFound, "The collection has no schema.")
        }
        return .json(schema)
    }
}
