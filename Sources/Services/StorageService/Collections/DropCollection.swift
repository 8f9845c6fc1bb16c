import Hummingbird
import MartletAPI
import MartletHTTP

/// Cancels unfinished builds of the collection's indexes first.
struct DropCollection: Endpoint {
    static let route = Route(
        .delete, "/collections/{collection}", "dropCollection",
        "Deletes a collection with all its objects and indexes.",
        callers: .manager(.delete, .storage),
        parameters: [
            .collection
        ], needsConfirmation: true,
        answers: [
            .answer(204, "The collection is deleted.")
        ],
        errors: [
            404: "The app has no such collection (`collection-not-found`).",
            409: "A rule of another collection reads it (`conflict`).",
        ])

    let collections: CollectionStore
    let builds: IndexBuilds
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        try await builds.stop(on: context.collection, of: space)
        try await collections.drop(context.collection, of: space)
        rights.forget(space)
        return Response(status: .noContent)
    }
}
