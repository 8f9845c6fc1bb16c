import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /admin/apps/{app}/icon`
struct ReadIcon: Endpoint {
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
    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let picture = try await request.picture(upTo: Picture.maximumIconSizeInBytes)
        return .json(try await pictures.setIcon(picture, of: id, by: author))
    }
}

/// `DELETE /admin/apps/{app}/icon`, 204.
struct DeleteIcon: Endpoint {
    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        guard try await pictures.deleteIcon(of: id, by: author) else { throw HTTPProblem(.pictureNotFound) }
        return Response(status: .noContent)
    }
}
