import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP

/// `GET /link/{token}/{path…}?thumbnail=`: what `CreateLink` made, for anybody.
///
/// The answer is the same `invalid-link` for a forged link, one that has expired, and one whose file is gone.
struct OpenLink: Endpoint {
    let files: FileStore
    let thumbnails: ThumbnailStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["thumbnail"])
        let principal = try context.principal
        guard [.link, .client, .master].contains(principal.kind) else { throw HTTPProblem(.forbidden) }
        let space = try AppSpace(principal)
        let (token, path) = (context.component("token"), try request.fileTarget(behind: 2).file)
        let thumbnail = request.uri.queryParameters["thumbnail"].map(String.init)
        // The link's word stands in for the rights of whoever made it.
        let scope = FileScope(space: space, identity: .master, credentialID: principal.credentialID)
        guard let expires = LinkSigner.expires(token), let file = try await files.find(path, in: scope),
            thumbnails.settings.signer.isValid(
                token, for: FileLink(space: space.schema, path: file.path, fileID: file.id, thumbnail: thumbnail, expires: expires),
                at: thumbnails.settings.now())
        else { throw HTTPProblem(.invalidLink) }
        let found = try await thumbnail.asyncMap { try await thumbnails.thumbnail(of: file, size: $0, in: space) } ?? file.response
        return try found.response(to: request, from: thumbnails.settings.backend)
    }
}

extension Optional {
    fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async throws -> Result? {
        guard let self else { return nil }
        return try await body(self)
    }
}
