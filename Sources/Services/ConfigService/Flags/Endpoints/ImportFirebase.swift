import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP

/// `POST /config/flags/default/import-firebase` with an exported Firebase Remote Config template: it becomes the draft.
/// With `If-Match`, or `If-None-Match: *` for the first one.
///
/// Answers as `PUT` does. 422 `document-refused` where something cannot be said here, with each of these by its place
/// in the template; nothing is written then.
struct ImportFirebase: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/import-firebase", "importFirebaseTemplate",
        "A template of Firebase Remote Config becomes the draft of the flags.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("flags")),
            .path("name", .oneOf("default")),
            .header("If-Match", .string, "The draft's ETag, or *. Or If-None-Match."),
            .header("If-None-Match", .string, "* where there are no flags yet."),
        ],
        body: .json(.object, text: "The template as the console or the REST API exports it."),
        answers: [
            .answer(
                200, "The draft's revision, and what is doubtful.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .object),
                        ], required: ["revision", "findings"]))),
            .answer(201, "The same; the draft is new."),
        ],
        errors: [
            412: "The draft is not the one that the request names (`precondition-failed`).",
            422: """
            Something cannot be said here: see `findings`, whose paths are the template's (`document-refused`). \
            Nothing was written.
            """, 428: "If-Match or If-None-Match is missing (`precondition-required`).",
        ])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.documentKey(kinds)
        guard key == FlagsKind.key else { throw HTTPProblem(.notFound) }
        let condition = try DraftCondition(request)
        let author = try context.author(may: condition.isForNew ? .create : .update, key.kind.area)
        let kind = FlagsKind()
        let imported = FirebaseTemplate.translate(try await request.document(upTo: kind.maximumSizeInBytes))
        guard !imported.issues.contains(where: \.isError) else {
            throw HTTPProblem(
                .documentRefused, "Nothing was imported: see findings, whose paths are those of the template.",
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
