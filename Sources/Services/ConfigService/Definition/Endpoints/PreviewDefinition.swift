import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /config/definition/{name}/preview` with perhaps `hours`, 24 and at most 168: `{"preview","expires","manifest"}`, by which an app that has
/// its key sees the draft.
struct PreviewDefinition: Endpoint {
    let documents: DocumentStore
    let previews: DefinitionPreviews
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .update)
        guard key.kind == .definition else { throw HTTPProblem(.notFound) }
        let fields = try await BodyFields(request, ["hours"])
        let hours = try fields.integer("hours", in: 1...DefinitionPreviews.maximumHours) ?? 24
        let space = try context.space
        guard try await documents.read(key, in: space) != nil else { throw HTTPProblem(.documentNotFound) }
        let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + Double(hours) * 3_600).rounded(.down))
        let token = previews.token(for: key.name, in: space, until: end)
        var response = try Response.encoding(
            Answer(preview: token, expires: end.formatted(.iso8601), manifest: "/definitions/\(key.name)/manifest?preview=\(token)"))
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private struct Answer: Encodable {
        var preview: String
        var expires: String
        var manifest: String
    }
}
