import Hummingbird
import MartletAPI
import MartletHTTP

struct RemoveSchema: Endpoint {
    static let route = Route(
        .delete, "/collections/{collection}/schema", "removeSchema",
        "Removes the JSON Schema of a collection, so that any object can be stored in it.",
        callers: .manager(.delete, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(204, "The collection has no schema.")
        ],
        errors: [404: "The app has no such collection (`collection-not-found`)."])

    let schemas: SchemaStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await schemas.remove(from: context.collection, of: context.space)
        return Response(status: .noContent)
    }
}
