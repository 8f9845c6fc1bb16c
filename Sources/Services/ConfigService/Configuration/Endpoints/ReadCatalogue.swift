import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /config/catalogue`: the kinds of things on screens with their properties (`PropertyCatalogue`), for who edits
/// configurations.
struct ReadCatalogue: Endpoint {
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        _ = try context.author(may: .read, DocumentKind.configuration.area)
        return try .stored(PropertyCatalogue.file, to: request)
    }
}
