import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

struct RenameCollection: Endpoint {
    static let route = Route(
        .post, "/collections/{collection}/rename", "renameCollection", "Renames a collection.",
        callers: .manager(.update, .storage),
        parameters: [
            .collection
        ],
        body: .json(.newName),
        answers: [
            .answer(200, "The new name.", .json(.newName))
        ],
        errors: [
            404: "The app has no such collection (`collection-not-found`).",
            409:
                "A collection with the new name exists, an index is being built, or a rule of another collection reads it (`conflict`).",
        ])

    let collections: CollectionStore
    let builds: IndexBuilds
    let rights: RightsStore

    private struct Body: Codable {
        var name: String
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        let body = try await request.decoded(Body.self)
        let name = try CollectionName(body.name)
        try await builds.requireNone(on: collection, of: space)
        try await collections.rename(collection, to: name, of: space)
        try await builds.rename(collection, to: name, of: space)
        rights.forget(space)
        return try .encoding(Body(name: name.text))
    }
}
