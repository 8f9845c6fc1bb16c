import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP

/// The link also opens later versions of the file, but not a different file that is later stored at the same path.
struct CreateLink: Endpoint {
    static let route = Route(
        .post, "/upload-link/**", "createLink", "Creates a signed link that opens a file without the app's secret.",
        callers: .clientOrStaff([.read], .storage),
        body: .json(
            .object(
                [
                    "expiresInSeconds": .integer.range(1, 604_800),
                    "thumbnail": .string,
                ])),
        answers: [
            .answer(
                201,
                "The link's `path`, relative to `/api/{appKey}/`, and when it `expires`: after an hour by default.",
                .json(.object(["path": .string, "expires": .timestamp], required: ["path", "expires"])))
        ],
        errors: [
            404: "There is no such file (`file-not-found`).",
            410: "The file was refused (`file-refused`).",
            423: "The file is being checked (`file-scanning`).",
        ])

    static let maximumSeconds = 7 * 86_400

    let files: FileStore
    let settings: FileSettings
    let rights: RightsStore

    private struct Body: Decodable {
        var expiresInSeconds: Int?
        var thumbnail: String?
    }

    private struct Answer: Encodable {
        var path: String
        var expires: Date
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try request.fileTarget().file
        let scope = try await context.fileScope(rights)
        let body = try await request.decoded(Body.self)
        let seconds = body.expiresInSeconds ?? 3_600
        guard (1...Self.maximumSeconds).contains(seconds) else {
            throw ServiceError(
                .invalidBody, "Expected 1 to \(Self.maximumSeconds) seconds, found \(seconds).",
                field: "expiresInSeconds")
        }
        if let name = body.thumbnail, settings.thumbnailSizes[name] == nil {
            let names = settings.thumbnailSizes.keys.sorted().joined(separator: ", ")
            throw ServiceError.unexpectedMember("thumbnail", expected: "one of the sizes \(names)", found: name)
        }
        guard let file = try await files.find(path, in: scope) else { throw ServiceError(.fileNotFound) }
        let expires = Int64(settings.now().timeIntervalSince1970) + Int64(seconds)
        let link = FileLink(
            environment: scope.space.environment.rawValue, space: scope.space.schema, path: file.path, fileID: file.id,
            thumbnail: body.thumbnail, expires: expires)
        let answer = Answer(
            path: settings.signer.path(of: link), expires: Date(timeIntervalSince1970: TimeInterval(expires)))
        // The link gives access to the file, so caches must not store it.
        var response = try Response.encoding(answer, status: .created).notStored
        response.headers[.location] = "/" + answer.path
        return response
    }
}

extension LinkSigner {
    /// The path of a signed link, relative to `/api/{appKey}/`.
    func path(of link: FileLink) -> String {
        let encoded = link.path.components(separatedBy: "/").map(RelativeReference.encoded).joined(separator: "/")
        return "link/\(token(for: link))/\(encoded)" + (link.thumbnail.map { "?thumbnail=\($0)" } ?? "")
    }
}
