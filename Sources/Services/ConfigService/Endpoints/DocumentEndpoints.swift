import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /config/{kind}?after=&limit=`: the documents of a kind by name, without their contents.
struct ListDocuments: Endpoint {
    static let route = Route(
        .get, "/config/{kind}", "listDocuments", "The documents of a kind, without their contents.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .query("after", .string, "The name behind which the page begins."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .configDocument),
                            "next": .string,
                        ])))
        ])

    let documents: DocumentStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let kind = try context.kind(kinds)
        _ = try context.author(may: .read, kind.area)
        let limit = try context.integer("limit")
        let after = request.uri.queryParameters["after"].map(String.init)
        guard after?.utf8.contains(0) != true else {
            throw HTTPProblem(.invalidParameter, "It must be a name.", field: "after")
        }
        let list = try await documents.list(kind, in: try context.space, after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.name : nil)
    }
}

/// `GET /config/{kind}/{name}`: the draft. Its revision is the `ETag`.
struct ReadDraft: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}", "readDraft", "The draft; its revision is the ETag.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
        ],
        answers: [
            .answer(200, "Done.", .json(.object))
        ],
        errors: [404: "There is no such document or version (`document-not-found`, `version-not-found`)."])

    let documents: DocumentStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        guard let document = try await documents.read(key, in: try context.space), let draft = document.draft else {
            throw HTTPProblem(.documentNotFound)
        }
        var response = Response.json(draft)
        response.headers[.eTag] = EntityTag(text: String(document.revision)).header
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// `PUT /config/{kind}/{name}` with the whole draft, and `PATCH` with a merge patch of it (RFC 7396). With `If-Match`,
/// or `If-None-Match: *` for a new document.
///
/// Answers the new revision and what is wrong or doubtful; a draft may have errors.
struct EditDraft: Endpoint {
    static let route = Route(
        .put, "/config/{kind}/{name}", "replaceDraft", "Stores the whole draft.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .header("If-Match", .string, "The draft's ETag, or *."),
            .header("If-None-Match", .string, "* for a new document."),
        ],
        body: .json(.object),
        answers: [
            .answer(
                200, "Stored; findings say what is wrong or doubtful.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
            .answer(
                201, "There was none.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
        ],
        errors: [
            412: "The draft is not the one that the request names (`precondition-failed`).",
            428: "Neither If-Match nor If-None-Match came (`precondition-required`).",
        ])
    static let changeDraft = Route(
        .patch, "/config/{kind}/{name}", "changeDraft", "Changes the draft by a merge patch (RFC 7396).",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .header("If-Match", .string, "The draft's ETag, or *."),
            .header("If-None-Match", .string, "* for a new document."),
        ],
        body: .json(.object),
        answers: [
            .answer(
                200, "Stored.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
            .answer(
                201, "There was none.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
        ],
        errors: [
            412: "The draft is not the one that the request names (`precondition-failed`).",
            428: "Neither If-Match nor If-None-Match came (`precondition-required`).",
        ])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds
    let isPatch: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.documentKey(kinds)
        let condition = try DraftCondition(request)
        let author = try context.author(may: condition.isForNew ? .create : .update, key.kind.area)
        guard let kind = kinds[key.kind] else { throw HTTPProblem(.notFound) }
        if let problem = kind.problem(withName: key.name) { throw HTTPProblem(.invalidName, problem, field: "name") }
        let change = try await request.document(upTo: kind.maximumSizeInBytes)
        let space = try context.space
        let edited = try await documents.edit(
            key, in: space, if: condition, by: author, maximumDocuments: kind.maximumDocuments
        ) { [isPatch] draft in
            let new = isPatch ? try JSONValue(parsing: (draft ?? "{}").utf8).merging(change) : change
            return try new.draft(upTo: kind.maximumSizeInBytes)
        }
        let findings = kind.check(
            try JSONValue(parsing: edited.draft.utf8), named: key.name, in: try await live.current(space))
        return .edited(edited, findings, isNew: condition.isForNew)
    }
}

/// `DELETE /config/{kind}/{name}` with `If-Match`: clients find it no more. Its versions stay. 204.
struct DeleteDocument: Endpoint {
    static let route = Route(
        .delete, "/config/{kind}/{name}", "deleteDocument", "Takes document and live version away; the versions stay.",
        callers: .documentManagers(.delete),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .header("If-Match", .string, "The draft's ETag, or *."),
            .header("If-None-Match", .string, "* for a new document."),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`).",
            412: "The draft is not the one that the request names (`precondition-failed`).",
            428: "Neither If-Match nor If-None-Match came (`precondition-required`).",
        ])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .delete)
        let space = try context.space
        try await documents.delete(key, in: space, if: try DraftCondition(request), by: author)
        await live.catchUp(space)
        return Response(status: .noContent)
    }
}

/// `POST /config/{kind}/{name}/check`: what is wrong or doubtful with the draft.
struct CheckDraft: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/check", "checkDraft", "What is wrong or doubtful with the draft.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
        ],
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [404: "There is no such document or version (`document-not-found`, `version-not-found`)."])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        let space = try context.space
        guard let kind = kinds[key.kind], let draft = try await documents.read(key, in: space)?.draft else {
            throw HTTPProblem(.documentNotFound)
        }
        let findings = kind.check(
            try JSONValue(parsing: draft.utf8), named: key.name, in: try await live.current(space))
        return .json(#"{"findings":\#(findings.limited.json.text)}"#)
    }
}

extension Request {
    /// The body as a document: a JSON object.
    ///
    /// - Throws: `invalid-json`, `invalid-body`, `payload-too-large`.
    func document(upTo limitInBytes: Int) async throws -> JSONValue {
        let value = try await json(upTo: limitInBytes)
        try value.checkIsDocument()
        return value
    }
}

extension JSONValue {
    /// - Throws: `invalid-body`.
    func checkIsDocument() throws {
        guard case .object = self else {
            throw HTTPProblem(.invalidBody, "Expected a JSON object, found \(kind.phrase).")
        }
    }

    /// The text that is stored.
    ///
    /// - Throws: `payload-too-large`, `limit-exceeded` when a patch made it too deep.
    func draft(upTo limitInBytes: Int) throws -> String {
        let text = text
        guard text.utf8.count <= limitInBytes else {
            throw HTTPProblem(.payloadTooLarge, "A document of this kind may have \(limitInBytes) bytes.")
        }
        do {
            _ = try JSONValue(parsing: text.utf8)
        } catch {
            throw HTTPProblem(.limitExceeded, "The patch makes an invalid document. \(error)")
        }
        return text
    }
}

extension Response {
    /// `{"revision","findings"}`, with the draft's new revision as the entity tag.
    static func edited(_ edited: DocumentStore.Edited, _ findings: [Finding], isNew: Bool = false) -> Response {
        var response = Response.json(#"{"revision":\#(edited.revision),"findings":\#(findings.limited.json.text)}"#)
        response.status = isNew ? .created : .ok
        response.headers[.eTag] = EntityTag(text: String(edited.revision)).header
        return response
    }
}
