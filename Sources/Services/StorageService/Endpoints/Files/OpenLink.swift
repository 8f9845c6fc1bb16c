import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP

/// `GET /link/{token}/{path…}?thumbnail=`: what `CreateLink` made, for anybody.
///
/// The link says of which of the app's environments its file is: a browser sends no header that does. The answer is the
/// same `invalid-link` for a forged link, one that has expired, and one whose file is gone.
struct OpenLink: Endpoint {
    static let route = Route(
        .get, "/link/{token}/**", "openLink", "What a signed link opens; the app key alone is enough.",
        callers: .anyone,
        parameters: [
            .path("token", .string, "A file's path, with its slashes; a directory's ends with one."),
            .query("thumbnail", .string, "As in the link."),
        ],
        answers: [
            .answer(200, "The file."),
            .answer(206, "One range."),
            .answer(304, "Not modified."),
        ],
        errors: [403: "Forged, expired or gone (`invalid-link`)."])

    let files: FileStore
    let thumbnails: ThumbnailStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        var principal = try context.principal
        guard [.link, .client, .master].contains(principal.kind) else { throw HTTPProblem(.forbidden) }
        let (token, path) = (context.component("token"), try request.fileTarget(behind: 2).file)
        guard let claims = LinkSigner.claims(token), let environment = AppEnvironment(rawValue: claims.environment)
        else {
            throw HTTPProblem(.invalidLink)
        }
        principal.environment = environment
        let space = try AppSpace(principal)
        let thumbnail = request.uri.queryParameters["thumbnail"].map(String.init)
        // The link's word stands in for the rights of whoever made it.
        let scope = FileScope(space: space, identity: .master, credentialID: principal.credentialID)
        guard let file = try await files.find(path, in: scope),
            thumbnails.settings.signer.isValid(
                token,
                for: FileLink(
                    environment: claims.environment, space: space.schema, path: file.path, fileID: file.id,
                    thumbnail: thumbnail,
                    expires: claims.expires),
                at: thumbnails.settings.now())
        else { throw HTTPProblem(.invalidLink) }
        let found =
            try await thumbnail.asyncMap { try await thumbnails.thumbnail(of: file, size: $0, in: space) }
            ?? file.response
        return try found.response(to: request, from: thumbnails.settings.backend)
    }
}

extension Optional {
    fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async throws -> Result? {
        guard let self else { return nil }
        return try await body(self)
    }
}
