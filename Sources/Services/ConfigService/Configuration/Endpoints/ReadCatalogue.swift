import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /config/catalogue`: the kinds of things on screens with their properties (`PropertyCatalogue`), for who edits configurations.
struct ReadCatalogue: Endpoint {
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        _ = try context.author(may: .read, DocumentKind.configuration.area)
        let file = PropertyCatalogue.file
        return try .stored(
            file.bytes, gzip: file.gzip, tag: EntityTag(text: file.sha256), type: "application/json; charset=utf-8", to: request)
    }
}
