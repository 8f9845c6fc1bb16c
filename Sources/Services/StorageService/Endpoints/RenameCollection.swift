import Foundation
import Hummingbird
import MartletHTTP

/// `POST /collections/{collection}/rename` with `{"name":"New"}`, 200 `{"name":"New"}`; master key.
struct RenameCollection: Endpoint {
    let collections: CollectionStore
    let builds: IndexBuilds
    let rights: RightsStore

    private struct Body: Codable {
        var name: String
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
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
