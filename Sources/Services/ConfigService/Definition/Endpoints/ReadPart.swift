import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /definitions/{name}/parts/{sha256}?preview=`: a part of the live version, of one that was live not long ago, or
/// of the draft. It never changes.
struct ReadPart: Endpoint {
    static let route = Route(
        .get, "/definitions/{name}/parts/{sha256}", "readPart",
        "A part of the live version, or of one of the ten before it. It never changes.", callers: .client,
        parameters: [
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
            .path("sha256", .string, "64 hexadecimal digits, from the manifest."),
            .query("preview", .string, "As for the manifest: a part of the draft."),
            .header("If-None-Match", .string, "Entity tags."),
        ],
        answers: [
            .answer(200, "JSON, compressed for who takes gzip.", .json(.any)),
            .answer(304, "Not modified."),
        ],
        errors: [
            404: "There is no such part (`document-not-found`).",
            422: "The draft that is previewed has errors (`document-refused`).",
        ])

    let live: LiveDocuments
    let choice: DefinitionChoice
    let previews: DefinitionPreviews

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space)
        let sha256 = context.component("sha256")
        guard sha256.utf8.count == 64, sha256.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw HTTPProblem(.invalidID, "A part's address is its SHA-256 in 64 hexadecimal digits.", field: "sha256")
        }
        let part =
            if let token = request.uri.queryParameters["preview"] {
                try await previews.draft(of: context.component("name"), in: space.space, by: token)
                    .definition.part(sha256.lowercased())
            } else {
                try await choice.part(sha256.lowercased(), of: try context.definition(in: space), in: space)
            }
        guard let part else {
            throw HTTPProblem(.documentNotFound, "The definition has, and lately had, no such part.")
        }
        return try .stored(part.stored, to: request, headers: [.cacheControl: "private, max-age=31536000, immutable"])
    }
}
