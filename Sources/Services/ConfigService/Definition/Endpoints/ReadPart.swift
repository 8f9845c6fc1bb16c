import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /definitions/{name}/parts/{sha256}?preview=`: a part of the live version, of one that was live not long ago, or
/// of the draft. It never changes.
struct ReadPart: Endpoint {
    let live: LiveDocuments
    let choice: DefinitionChoice
    let previews: DefinitionPreviews

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space)
        try request.allowParameters(["preview"])
        let sha256 = context.parameters.get("sha256") ?? ""
        guard sha256.utf8.count == 64, sha256.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw HTTPProblem(.invalidID, "A part's address is its SHA-256 in 64 hexadecimal digits.", field: "sha256")
        }
        let part =
            if let token = request.uri.queryParameters["preview"] {
                try await previews.draft(of: context.parameters.get("name") ?? "", in: space.space, by: token)
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
