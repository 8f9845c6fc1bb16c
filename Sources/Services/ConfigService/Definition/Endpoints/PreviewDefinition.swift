import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /config/definition/{name}/preview` with perhaps `hours`, 24 and at most 168:
/// `{"id","preview","expires","manifest"}`, by which an app that has its key sees the draft.
struct PreviewDefinition: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/preview", "previewDefinition",
        """
        Makes what an app on a test device sends to see the draft, as it is by then. 50 of a draft are open \
        at a time.
        """, callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("definition"), "`definition`: other kinds have no such call."),
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
        ],
        body: .json(
            .object(
                [
                    "hours": .integer.range(1, 168).described("How long; without: 24.")
                ]), isRequired: false),
        answers: [
            .answer(
                200, "`preview` goes into the query of manifest and parts; `manifest` is a path with it.",
                .json(
                    .object(
                        [
                            "id": .uuid,
                            "preview": .string,
                            "expires": .time,
                            "manifest": .string,
                        ], required: ["id", "preview", "expires", "manifest"])))
        ],
        errors: [404: "There is no such definition (`document-not-found`)."])

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
    static let route = Route(
        .get, "/config/{kind}/{name}/preview", "listPreviews",
        "The previews that are open, the newest first, without what opens them.", callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("definition"), "`definition`: other kinds have no such call."),
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
        ],
        answers: [
            .answer(
                200, "All of them.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "id": .uuid,
                                        "author": .string,
                                        "created": .time,
                                        "expires": .time,
                                    ], required: ["id", "author", "created", "expires"])),
                        ], required: ["count", "data"])))
        ])

    let previews: PreviewStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managedDefinition(kinds, may: .read)
        return .page(try await previews.list(key, in: try context.space))
    }
}

/// `DELETE /config/definition/{name}/preview/{id}`: the link shows nothing any more. 204.
struct RevokePreview: Endpoint {
    static let route = Route(
        .delete, "/config/{kind}/{name}/preview/{id}", "revokePreview", "The preview shows nothing any more.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("definition"), "`definition`: other kinds have no such call."),
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
            .path("id", .uuid),
        ],
        answers: [
            .answer(204, "Revoked.")
        ],
        errors: [404: "There is no such preview, or its time is over (`document-not-found`)."])

    let previews: PreviewStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managedDefinition(kinds, may: .update)
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
