import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP

/// Replaces the whole draft or, if a part of the template has no equivalent here, writes nothing.
struct ImportFirebase: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/import-firebase", "importFirebaseTemplate",
        "Replaces the draft of the flags with a template of Firebase Remote Config.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("flags")),
            .path("name", .oneOf("default")),
            .header(
                "If-Match", .string, "The draft's `ETag`, or `*` for any. Required unless `If-None-Match` is sent."),
            .header("If-None-Match", .string, "`*`: the call succeeds only if there is no draft yet."),
        ],
        body: .json(.object, text: "The template as exported by the Firebase console or its REST API."),
        answers: [
            .answer(
                200, "The draft's revision, and the errors and warnings of the import.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .object),
                        ], required: ["revision", "findings"]))),
            .answer(201, "The draft was created. The body is the same as for 200."),
        ],
        errors: [
            412: "The draft does not meet `If-Match` or `If-None-Match` (`precondition-failed`).",
            422: """
            A part of the template has no equivalent here: see `findings`, whose paths are those of the template \
            (`document-refused`). Nothing was written.
            """, 428: "The request has neither `If-Match` nor `If-None-Match` (`precondition-required`).",
        ])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.documentKey(kinds)
        guard key == FlagsKind.key else { throw ServiceError(.notFound) }
        let condition = try DraftCondition(request)
        let author = try context.author(may: condition.isForNew ? .create : .update, key.kind.area)
        let kind = FlagsKind()
        let imported = FirebaseTemplate.translate(try await request.document(upTo: kind.maximumSizeInBytes))
        guard !imported.issues.contains(where: \.isError) else {
            throw ServiceError(
                .documentRefused, "Nothing was imported; see findings, whose paths are those of the template.",
                findings: imported.issues.map(Finding.init).limited)
        }
        let draft = try imported.document.draft(upTo: kind.maximumSizeInBytes)
        let space = try context.space
        let edited = try await documents.edit(
            key, in: space, if: condition, by: author, maximumDocuments: kind.maximumDocuments
        ) { _ in draft }
        let findings =
            imported.issues.map(Finding.init)
            + kind.check(imported.document, named: key.name, in: try await live.current(space))
        var response = Response.edited(edited, findings, isNew: condition.isForNew)
        response.headers[.location] =
            condition.isForNew ? "/config/\(key.kind.rawValue)/" + RelativeReference.encoded(key.name) : nil
        return response
    }
}
