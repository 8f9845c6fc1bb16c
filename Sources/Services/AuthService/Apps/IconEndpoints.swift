import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadIcon: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/icon", "readIcon", "Returns the app's icon.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        answers: [
            .answer(
                200, "The picture.", .type("image/png", .bytes), .type("image/jpeg", .bytes),
                .type("image/webp", .bytes)),
            .answer(304, "The picture has the entity tag in `If-None-Match`."),
        ],
        errors: [404: "There is no such app, or it has no icon (`picture-not-found`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let icon = try await pictures.icon(of: try context.readableApp()) else {
            throw ServiceError(.pictureNotFound)
        }
        return .picture(icon, to: request)
    }
}

struct SetIcon: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/icon", "setIcon",
        "Sets the app's icon.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: """
            The icon is a PNG, JPEG or WebP picture of at most 1 MiB. The type is detected from the bytes; \
            `Content-Type` is ignored.
            """,
        body: .contents(.type("image/png", .bytes), .type("image/jpeg", .bytes), .type("image/webp", .bytes)),
        answers: [
            .answer(200, "The picture's properties.", .json(.picture))
        ],
        errors: [
            404: "The server has no such app (`app-not-found`).", 409: "The app is archived (`conflict`).",
            415: "The body is not a PNG, JPEG or WebP picture (`unsupported-media-type`).",
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let picture = try await request.picture(upTo: Picture.maximumIconSizeInBytes)
        return .json(try await pictures.setIcon(picture, of: id, by: author))
    }
}

struct DeleteIcon: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/icon", "deleteIcon", "Deletes the app's icon.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        answers: [
            .answer(204, "The icon is deleted.")
        ],
        errors: [
            404: "There is no such app (`app-not-found`), or it has no icon (`picture-not-found`).",
            409: "The app is archived (`conflict`).",
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        guard try await pictures.deleteIcon(of: id, by: author) else { throw ServiceError(.pictureNotFound) }
        return Response(status: .noContent)
    }
}
