import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /config/definition/{name}/preview` with perhaps `hours`, 24 and at most 168:
/// `{"id","preview","expires","manifest"}`, by which an app that has its key sees the draft.
struct PreviewDefinition: Endpoint {
    let previews: DefinitionPreviews
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managedDefinition(kinds, may: .update)
        let fields = try await BodyFields(request, ["hours"], isOptional: true)
        let hours = try fields.integer("hours", in: 1...DefinitionPreviews.maximumHours) ?? 24
        let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + Double(hours) * 3_600).rounded(.down))
        let made = try await previews.make(of: key, in: try context.space, until: end, by: author)
        var response = try Response.encoding(
            Answer(
                id: made.id.uuidString.lowercased(), preview: made.token, expires: end.formatted(.iso8601),
                manifest: "/definitions/\(key.name)/manifest?preview=\(made.token)"))
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private struct Answer: Encodable {
        var id: String
        var preview: String
        var expires: String
        var manifest: String
    }
}

/// `GET /config/definition/{name}/preview`: the previews that are open, without what opens them, the newest first.
struct ListPreviews: Endpoint {
    let previews: PreviewStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managedDefinition(kinds, may: .read)
        try request.allowParameters()
        return .page(try await previews.list(key, in: try context.space))
    }
}

/// `DELETE /config/definition/{name}/preview/{id}`: the link shows nothing any more. 204.
struct RevokePreview: Endpoint {
    let previews: PreviewStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managedDefinition(kinds, may: .update)
        try request.allowParameters()
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await previews.revoke(id, of: key, in: try context.space)
        else { throw HTTPProblem(.documentNotFound, "There is no such preview, or its time is over.") }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// - Throws: as `managed`; `not-found` for other kinds.
    fileprivate func managedDefinition(_ kinds: Kinds, may action: StaffAction) throws -> (
        key: DocumentKey, author: Author
    ) {
        let managed = try managed(kinds, may: action)
        guard managed.key.kind == .definition else { throw HTTPProblem(.notFound) }
        return managed
    }
}
