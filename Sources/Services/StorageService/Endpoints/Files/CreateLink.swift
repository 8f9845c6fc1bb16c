import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP

/// `POST /upload-link/{path…}` with `{"expiresInSeconds":3600,"thumbnail":"small"}`, both optional: 201
/// `{"path":"link/…","expires":…}`.
///
/// `path` goes behind `/api/{appKey}/` and opens the file, or its thumbnail, without the app's secret until it expires:
/// after an hour, or up to seven days. It opens this file, whatever its version, and no other that takes its path
/// later.
struct CreateLink: Endpoint {
    static let route = Route(
        .post, "/upload-link/**", "createLink", "A signed link that opens the file without the secret.",
        callers: .client,
        body: .json(
            .object(
                [
                    "expiresInSeconds": .integer.range(1, 604_800),
                    "thumbnail": .string,
                ])),
        answers: [
            .answer(201, "The path behind /api/key/ and when it expires.")
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
            throw HTTPProblem(.invalidBody, "It must be from 1 to \(Self.maximumSeconds).", field: "expiresInSeconds")
        }
        guard body.thumbnail.map({ settings.thumbnailSizes[$0] != nil }) ?? true else {
            throw HTTPProblem(.invalidBody, "This size is not declared.", field: "thumbnail")
        }
        guard let file = try await files.find(path, in: scope) else { throw HTTPProblem(.fileNotFound) }
        let expires = Int64(settings.now().timeIntervalSince1970) + Int64(seconds)
        let token = settings.signer.token(
            for: FileLink(
                environment: scope.space.environment.rawValue, space: scope.space.schema, path: file.path,
                fileID: file.id,
                thumbnail: body.thumbnail, expires: expires))
        let encoded = file.path.components(separatedBy: "/").map(RelativeReference.encoded).joined(separator: "/")
        let answer = Answer(
            path: "link/\(token)/\(encoded)" + (body.thumbnail.map { "?thumbnail=\($0)" } ?? ""),
            expires: Date(timeIntervalSince1970: TimeInterval(expires)))
        // Whoever has its address has the file.
        var response = try Response.encoding(answer, status: .created).notStored
        response.headers[.location] = "/" + answer.path
        return response
    }
}
