import Hummingbird
import MartletAPI
import MartletHTTP

struct DropIndex: Endpoint {
    static let route = Route(
        .delete, "/collections/{collection}/indexes/{index}", "dropIndex", "Deletes an index, or cancels its build.",
        callers: .manager(.delete, .storage),
        parameters: [
            .collection,
            .path("index", .string.length(1, 128), "The index's name."),
        ],
        answers: [
            .answer(204, "The index is deleted.")
        ],
        errors: [
            404: """
            The app has no such collection (`collection-not-found`), or the collection has no such index \
            (`index-not-found`).
            """
        ])

    let indexes: IndexStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        try await indexes.drop(context.component("index"), on: context.collection, of: space)
        rights.forget(space)
        return Response(status: .noContent)
    }
}
