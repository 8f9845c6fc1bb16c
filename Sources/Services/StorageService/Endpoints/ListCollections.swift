import Foundation
import Hummingbird
import MartletHTTP

/// `GET /collections`: `{"count":n,"data":[{"name","estimatedCount","sizeInBytes"}]}`; master key.
struct ListCollections: Endpoint {
    let collections: CollectionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        return try .list(try await collections.list(of: context.managedSpace))
    }
}
