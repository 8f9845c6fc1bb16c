import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListDocuments: Endpoint {
    static let route = Route(
        .get, "/config/{kind}", "listDocuments", "Lists the documents of a kind by name, without their contents.",
        callers: .documentManagers(.read),
        parameters: [
            .documentKind,
            .query("after", .string, "`next` from the previous page: the page starts after this name."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "A page of documents: `count`, `data`, and `next` if there are more.",
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
            throw ServiceError(
                .invalidParameter, "Expected a document's name, without NUL characters.", field: "after")
        }
        let list = try await documents.list(kind, in: try context.space, after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.name : nil)
    }
}

struct ReadDraft: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}", "readDraft", "Returns the draft of a document.",
        callers: .documentManagers(.read),
        parameters: [
            .documentKind,
            .documentName,
        ],
        answers: [
            .answer(200, "The draft. `ETag` holds its revision.", .json(.object))
        ],
        errors: [404: "There is no such document (`document-not-found`)."])

    let documents: DocumentStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        guard let document = try await documents.read(key, in: try context.space), let draft = document.draft else {
            throw ServiceError(.documentNotFound)
        }
        var response = Response.json(draft)
        response.headers[.eTag] = EntityTag(text: String(document.revision)).header
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// Stores the draft even if it has errors, under the document's lock: of two concurrent changes with the same
/// `If-Match` one is refused. The findings are computed after the draft has been stored.
struct EditDraft: Endpoint {
    static let route = Route(
        .put, "/config/{kind}/{name}", "replaceDraft", "Replaces the draft of a document, or creates the document.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .documentKind,
            .documentName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any."),
            .header("If-None-Match", .string, "`*`: the call succeeds only if there is no such document."),
        ],
        body: .json(.object),
        answers: [
            .answer(
                200, "The revision of the stored draft, and its errors and warnings.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
            .answer(
                201, "The document is new.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
        ],
        errors: [
            412: "The draft does not meet `If-Match` or `If-None-Match` (`precondition-failed`).",
            428: "The request has neither `If-Match` nor `If-None-Match` (`precondition-required`).",
        ])
    static let changeDraft = Route(
        .patch, "/config/{kind}/{name}", "changeDraft",
        "Changes the draft of a document with a merge patch (RFC 7396).",
        callers: .documentManagers(.create, .update),
        parameters: [
            .documentKind,
            .documentName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any."),
            .header("If-None-Match", .string, "`*`: the call succeeds only if there is no such document."),
        ],
        body: .json(.object),
        answers: [
            .answer(
                200, "The revision of the changed draft, and its errors and warnings.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
            .answer(
                201, "The document is new.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ]))),
        ],
        errors: [
            412: "The draft does not meet `If-Match` or `If-None-Match` (`precondition-failed`).",
            428: "The request has neither `If-Match` nor `If-None-Match` (`precondition-required`).",
        ])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds
    let isPatch: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.documentKey(kinds)
        let condition = try DraftCondition(request)
        let author = try context.author(may: condition.isForNew ? .create : .update, key.kind.area)
        guard let kind = kinds[key.kind] else { throw ServiceError(.notFound) }
        if let problem = kind.problem(withName: key.name) { throw ServiceError(.invalidName, problem, field: "name") }
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

/// Also cancels the scheduled publications of the document, all in one transaction.
struct DeleteDocument: Endpoint {
    static let route = Route(
        .delete, "/config/{kind}/{name}", "deleteDocument",
        "Deletes a document and withdraws its live version; its versions are kept.",
        callers: .documentManagers(.delete),
        parameters: [
            .documentKind,
            .documentName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any."),
            .header("If-None-Match", .string, "Not useful here: an existing document never meets `*`."),
        ],
        answers: [
            .answer(204, "The document is deleted.")
        ],
        errors: [
            404: "There is no such document (`document-not-found`).",
            412: "The draft does not meet `If-Match` or `If-None-Match` (`precondition-failed`).",
            428: "The request has neither `If-Match` nor `If-None-Match` (`precondition-required`).",
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

struct CheckDraft: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/check", "checkDraft", "Checks the draft of a document without changing anything.",
        callers: .documentManagers(.read),
        parameters: [
            .documentKind,
            .documentName,
        ],
        answers: [
            .answer(
                200, "The revision of the draft, and its errors and warnings.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [404: "There is no such document (`document-not-found`)."])

    let documents: DocumentStore
    let live: LiveDocuments
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        let space = try context.space
        guard let kind = kinds[key.kind], let document = try await documents.read(key, in: space),
            let draft = document.draft
        else { throw ServiceError(.documentNotFound) }
        let findings = kind.check(
            try JSONValue(parsing: draft.utf8), named: key.name, in: try await live.current(space))
        return .json(#"{"revision":\#(document.revision),"findings":\#(findings.limited.json.text)}"#)
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
            throw ServiceError(.invalidBody, "Expected a JSON object, found \(kind.phrase).")
        }
    }

    /// The document as it is stored.
    ///
    /// - Throws: `payload-too-large`, `limit-exceeded` if a patch has made it too deep.
    func draft(upTo limitInBytes: Int) throws -> String {
        let text = text
        guard text.utf8.count <= limitInBytes else {
            throw ServiceError(.payloadTooLarge, "A document of this kind may have at most \(limitInBytes) bytes.")
        }
        do {
            _ = try JSONValue(parsing: text.utf8)
        } catch {
            throw ServiceError(.limitExceeded, "The patched document would be invalid: \(error)")
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
