import Foundation
import Hummingbird
import MartletHTTP

/// `POST /collections/{collection}/rename` with `{"name":"New"}`, 200 `{"name":"New"}`; master key.
struct RenameCollection: Endpoint {
    static let route = Route(
        .post, "/collections/{collection}/rename", "renameCollection", "Gives a collection another name.",
        callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        body: .json(.newName),
        answers: [
            .answer(200, "The new name.", .json(.newName))
        ],
        errors: [
            404: "There is no such collection (`collection-not-found`).",
            409: "The name is taken, or a unique index forbids it (`conflict`).",
        ])

    let collections: CollectionStore
    let builds: IndexBuilds
    let rights: RightsStore

    private struct Body: Codable {
        var name: String
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.managedSpace)
        let body = try await request.decoded(Body.self)
        let name = try CollectionName(body.name)
        try await builds.requireNone(on: collection, of: space)
        try await collections.rename(collection, to: name, of: space)
        try await builds.rename(collection, to: name, of: space)
        rights.forget(space)
        return try .encoding(Body(name: name.text))
    }
}
