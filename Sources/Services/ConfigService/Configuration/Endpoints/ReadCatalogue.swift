import Hummingbird
import MartletAPI
import MartletHTTP

/// See `PropertyCatalogue`.
struct ReadCatalogue: Endpoint {
    static let route = Route(
        .get, "/config/catalogue", "readCatalogue",
        "Returns the kinds of screen elements and their properties, for editors of configurations.",
        callers: .manager(.read, .config),
        answers: [
            .answer(
                200, "The catalogue.",
                .json(
                    .object(
                        [
                            "version": .integer,
                            "kinds": .object,
                        ], required: ["version", "kinds"]))),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, DocumentKind.configuration.area)
        return try .stored(PropertyCatalogue.file, to: request)
    }
}
