import HTTPTypes
import Hummingbird
import MartletHTTP

/// `OPTIONS /files/tus`: what of the tus protocol is understood, 204.
struct DescribeTus: Endpoint {
    static let route = Route(
        .options, "/files/tus", "describeTus", "What of the tus protocol is understood.", callers: .client,
        checksOwnQuery: true,
        answers: [
            .answer(204, "Tus-Version, Tus-Extension, Tus-Max-Size.")
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
