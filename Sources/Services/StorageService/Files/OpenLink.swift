import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP

/// Answers a signed link. Its token names the environment, because browsers send no header for it. The error is the
/// same for forged links, expired links and deleted files.
struct OpenLink: Endpoint {
    static let route = Route(
        .get, "/link/{token}/**", "openLink",
        "Returns the file or thumbnail of a signed link. The app key alone is enough.",
        callers: .anyone,
        parameters: [
            .path("token", .string, "The signature in the path from `createLink`."),
            .query("thumbnail", .string, "The thumbnail size, as in the path from `createLink`."),
        ],
        answers: [
            .answer(200, "The contents of the file or thumbnail."),
            .answer(206, "The requested range."),
            .answer(304, "The client already has this version (`If-None-Match`)."),
        ],
        errors: [
            403: "The link is forged or expired, or its file is deleted (`invalid-link`).",
            410: "The file was refused (`file-refused`).",
            423: "The file is being checked (`file-scanning`).",
        ])

    let files: FileStore
    let thumbnails: ThumbnailStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        var principal = try context.principal
        guard [.link, .client, .master].contains(principal.kind) else { throw ServiceError(.forbidden) }
        let (token, path) = (context.component("token"), try request.fileTarget(after: 2).file)
        guard let claims = LinkSigner.claims(token), let environment = AppEnvironment(rawValue: claims.environment)
        else {
            throw ServiceError(.invalidLink)
        }
        principal.environment = environment
        let space = try AppSchema(principal)
        let thumbnail = request.uri.queryParameters["thumbnail"].map(String.init)
        // `CreateLink` checked the rights before it signed the link, so they are not checked again.
        let scope = FileScope(space, .master, of: principal)
        guard let file = try await files.findInAnyState(path, in: scope) else { throw ServiceError(.invalidLink) }
        func isValid(for fileID: String) -> Bool {
            let link = FileLink(
                environment: claims.environment, space: space.schema, path: file.path, fileID: fileID,
                thumbnail: thumbnail, expires: claims.expires)
            return thumbnails.settings.signer.isValid(token, for: link, at: thumbnails.settings.now())
        }
        let isOfScanner = isValid(for: file.idForScanner)
        guard isOfScanner || isValid(for: file.id) else { throw ServiceError(.invalidLink) }
        try file.requireReadable(evenWhileScanning: isOfScanner)
        return try await thumbnails.response(to: request, with: file, in: space)
    }
}
