import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The token in the answer is shown only here; the database stores nothing from which it could be made.
struct PreviewDefinition: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/preview", "previewDefinition",
        """
        Opens a preview, with which an app on a test device shows the current draft. At most 50 previews of a draft \
        can be open at a time.
        """, callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("definition"), "Only definitions have this call."),
            .definitionName,
        ],
        body: .json(
            .object(
                [
                    "hours": .integer.range(1, 168).described("How long the preview stays open; by default 24 hours.")
                ]), isRequired: false),
        answers: [
            .answer(
                200,
                """
                `preview` is the token to send in the query of manifest and parts; `manifest` is the path of the \
                manifest with it.
                """,
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
        let end = Date(
            timeIntervalSince1970: (previews.now().timeIntervalSince1970 + Double(hours) * 3_600).rounded(.down))
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

struct ListPreviews: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/preview", "listPreviews",
        "Lists the open previews of a draft, newest first, without their tokens.", callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("definition"), "Only definitions have this call."),
            .definitionName,
        ],
        answers: [
            .answer(
                200, "All open previews.",
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

struct RevokePreview: Endpoint {
    static let route = Route(
        .delete, "/config/{kind}/{name}/preview/{id}", "revokePreview",
        "Revokes a preview; its token no longer opens the draft.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("definition"), "Only definitions have this call."),
            .definitionName,
            .path("id", .uuid),
        ],
        answers: [
            .answer(204, "The preview is revoked.")
        ],
        errors: [404: "There is no such preview, or it has expired (`document-not-found`)."])

    let previews: PreviewStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managedDefinition(kinds, may: .update)
        let id = try context.uuid("id", else: .documentNotFound, "There is no such preview, or it has expired.")
        guard try await previews.revoke(id, of: key, in: try context.space) else {
            throw ServiceError(.documentNotFound, "There is no such preview, or it has expired.")
        }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// The definition in the path and its author.
    ///
    /// - Throws: The errors of `managed`; `not-found` for other kinds.
    fileprivate func managedDefinition(_ kinds: Kinds, may action: StaffAction) throws -> (
        key: DocumentKey, author: Author
    ) {
        let managed = try managed(kinds, may: action)
        guard managed.key.kind == .definition else { throw ServiceError(.notFound) }
        return managed
    }
}
