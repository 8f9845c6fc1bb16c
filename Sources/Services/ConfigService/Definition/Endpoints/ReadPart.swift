import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /definitions/{name}/parts/{sha256}`: a part of the live version, or of one that was live not long ago. It never changes.
struct ReadPart: Endpoint {
    let live: LiveDocuments
    let choice: DefinitionChoice

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space)
        let document = try context.definition(in: space)
        try request.allowParameters()
        let sha256 = context.parameters.get("sha256") ?? ""
        guard sha256.utf8.count == 64, sha256.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw HTTPProblem(.invalidID, "A part's address is its SHA-256 in 64 hexadecimal digits.", field: "sha256")
        }
        guard let part = try await choice.part(sha256.lowercased(), of: document, in: space) else {
            throw HTTPProblem(.documentNotFound, "The definition has, and lately had, no such part.")
        }
        return try .stored(part.stored, to: request, headers: [.cacheControl: "private, max-age=31536000, immutable"])
    }
}
