import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadPart: Endpoint {
    static let route = Route(
        .get, "/definitions/{name}/parts/{sha256}", "readPart",
        "Returns a part of the live version of a definition, or of one of the ten versions before it.",
        callers: .client,
        parameters: [
            .definitionName,
            .path("sha256", .string, "The part's SHA-256 from the manifest: 64 hexadecimal digits."),
            .query("preview", .string, "The token of a preview; selects a part of the draft."),
            .generation,
            .header("If-None-Match", .string, "The `ETag` of an earlier answer."),
        ],
        answers: [
            .answer(200, "The part, which never changes; compressed if the client accepts gzip.", .json(.any)),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [
            404: "There is no such part, or the preview has expired or was revoked (`document-not-found`).",
            422: "The previewed draft has errors: see `findings` (`document-refused`).",
        ])

    let live: LiveDocuments
    let choice: DefinitionChoice
    let previews: DefinitionPreviews

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space, reaching: request.generation)
        let sha256 = context.component("sha256")
        guard sha256.utf8.count == 64, sha256.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw ServiceError(.invalidID, "Expected a part's SHA-256: 64 hexadecimal digits.", field: "sha256")
        }
        let part =
            if let token = request.uri.queryParameters["preview"] {
                try await previews.draft(of: context.component("name"), in: space.space, by: token)
                    .definition.part(sha256.lowercased())
            } else {
                try await choice.part(sha256.lowercased(), of: try context.definition(in: space), in: space)
            }
        guard let part else {
            throw ServiceError(
                .documentNotFound, "The definition and its recent versions have no such part.")
        }
        return try .stored(part.stored, to: request, headers: [.cacheControl: "private, max-age=31536000, immutable"])
    }
}
