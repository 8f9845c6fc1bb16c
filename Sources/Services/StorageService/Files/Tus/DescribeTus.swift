import HTTPTypes
import Hummingbird
import MartletHTTP

struct DescribeTus: Endpoint {
    static let route = Route(
        .options, "/files/tus", "describeTus", "Returns the supported versions and extensions of the tus protocol.",
        callers: .client,
        checksOwnQuery: true,
        answers: [
            .answer(204, "The headers `Tus-Version`, `Tus-Extension` and `Tus-Max-Size`.")
        ])

    let settings: FileSettings

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.space
        return Response(
            status: .noContent,
            headers: [
                Tus.resumable: Tus.version, HTTPField.Name("Tus-Version")!: Tus.version,
                HTTPField.Name("Tus-Extension")!: Tus.extensions,
                HTTPField.Name("Tus-Max-Size")!: String(settings.maximumSizeInBytes),
            ])
    }
}
