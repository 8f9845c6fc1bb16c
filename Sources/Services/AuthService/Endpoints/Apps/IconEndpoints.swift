import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /admin/apps/{app}/icon`
struct ReadIcon: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/icon", "readIcon", "The app's icon.", callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        answers: [
            .answer(
                200, "The picture.", .type("image/png", .bytes), .type("image/jpeg", .bytes),
                .type("image/webp", .bytes)),
            .answer(304, "Not modified."),
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let icon = try await pictures.icon(of: try context.readableApp()) else {
            throw HTTPProblem(.pictureNotFound)
        }
        return .picture(icon, to: request)
    }
}

/// `PUT /admin/apps/{app}/icon` with the picture as its body. 200 with what is known of it.
struct SetIcon: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/icon", "setIcon",
        "Sets the icon: PNG, JPEG or WebP of at most 1 MiB, told by its bytes.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        body: .contents(.type("image/png", .bytes), .type("image/jpeg", .bytes), .type("image/webp", .bytes)),
        answers: [
            .answer(200, "What is known of it.", .json(.picture))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let picture = try await request.picture(upTo: Picture.maximumIconSizeInBytes)
        return .json(try await pictures.setIcon(picture, of: id, by: author))
    }
}

/// `DELETE /admin/apps/{app}/icon`, 204.
struct DeleteIcon: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/icon", "deleteIcon", "Deletes the icon.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        guard try await pictures.deleteIcon(of: id, by: author) else { throw HTTPProblem(.pictureNotFound) }
        return Response(status: .noContent)
    }
}
