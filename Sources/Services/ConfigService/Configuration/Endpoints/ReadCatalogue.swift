import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /config/catalogue`: the kinds of things on screens with their properties (`PropertyCatalogue`), for who edits
/// configurations.
struct ReadCatalogue: Endpoint {
    static let route = Route(
        .get, "/config/catalogue", "readCatalogue", "Kinds of things on screens, and their properties.",
        callers: .manager(.read, .config),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "version": .integer,
                            "kinds": .object,
                        ], required: ["version", "kinds"]))),
            .answer(304, "It is what the tag names."),
        ])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, DocumentKind.configuration.area)
        return try .stored(PropertyCatalogue.file, to: request)
    }
}
