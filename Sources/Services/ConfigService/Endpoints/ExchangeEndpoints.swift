import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Without `kind`, exports all kinds that the caller may read.
struct ExportDocuments: Endpoint {
    static let route = Route(
        .get, "/config/export", "exportDocuments",
        "Exports drafts and live versions in the form that the import accepts.",
        callers: .documentManagers(.read),
        parameters: [
            .query("kind", .string, "Exports only documents of this kind.")
        ],
        answers: [
            .answer(200, "`documents`: each with `kind`, `name`, `draft` and `live`.", .json(.object))
        ])

    let exchange: Exchange

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        var kinds = try context.kinds(may: .read)
        if let name = request.uri.queryParameters["kind"] {
            guard let kind = DocumentKind(rawValue: String(name)) else {
                throw ServiceError(.invalidParameter, "There is no such kind of document.", field: "kind")
            }
            _ = try context.author(may: .read, kind.area)
            kinds = [kind]
        }
        return .json(try await exchange.export(kinds, of: try context.space))
    }
}

/// Stores the drafts in one transaction. `publish` then publishes each document that has `live`, in a transaction of
/// its own, experiments and definitions last. A refused document ends the call; the publications before it stay.
struct ImportDocuments: Endpoint {
    static let route = Route(
        .post, "/config/import", "importDocuments", "Imports documents: stores all their drafts, or none.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .query("replace", .boolean, "Replaces the drafts of documents that already exist."),
            .query("publish", .boolean, "Publishes every document that has `live`, one after another."),
        ],
        body: .json(
            .object(
                [
                    "documents": .array(
                        of: .object(
                            [
                                "kind": .string,
                                "name": .string,
                                "draft": .object,
                                "live": .object.nullable,
                            ], required: ["kind", "name"])
                    ).maxItems(1_000)
                ], required: ["documents"])),
        answers: [
            .answer(
                200, "`documents`: the number of stored drafts; `published`: the new live versions.", .json(.object))
        ],
        errors: [
            409: "A document already exists, and `replace` is not set (`conflict`). Nothing was stored.",
            422: """
            A document to be published has errors: see `findings` (`document-refused`). All drafts are stored, and the \
            documents before it are published.
            """,
        ])

    let exchange: Exchange
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = try context.importer()
        let fields = try await BodyFields(request, ["documents"], upTo: Exchange.maximumSizeInBytes)
        guard case .array(let documents)? = fields["documents"], documents.count <= Exchange.maximumDocuments else {
            throw ServiceError(
                .invalidBody, "Expected an array of at most \(Exchange.maximumDocuments) documents.",
                field: "documents")
        }
        let items = try documents.enumerated().map { try item($1, "documents.\($0)") }
        guard Set(items.map(\.key)).count == items.count else {
            throw ServiceError(.invalidBody, "Each document may occur only once.", field: "documents")
        }
        for kind in Set(items.map(\.key.kind)) {
            for action in [StaffAction.create, .update] { _ = try context.author(may: action, kind.area) }
        }
        let versions = try await exchange.importDocuments(
            items, into: try context.space, replacing: try request.flag("replace"),
            publishing: try request.flag("publish"), by: author)
        return .json(#"{"documents":\#(items.count),"published":[\#(versions.joined(separator: ","))]}"#)
    }

    private func item(_ value: JSONValue, _ field: String) throws -> Exchange.Item {
        let fields = try BodyFields(value, ["kind", "name", "draft", "live"])
        guard let kind = DocumentKind(rawValue: try fields.requiredString("kind")), let published = kinds[kind] else {
            throw ServiceError(.invalidBody, "There is no such kind of document.", field: field + ".kind")
        }
        let key = try DocumentKey(checking: try fields.requiredString("name"), of: kind)
        if let problem = published.problem(withName: key.name) {
            throw ServiceError(.invalidBody, problem, field: field + ".name")
        }
        func content(_ name: String) throws -> String? {
            guard let value = fields[name], value != .null else { return nil }
            do {
                try value.checkIsDocument()
                return try value.draft(upTo: published.maximumSizeInBytes)
            } catch let problem as ServiceError {
                throw ServiceError(problem.code, problem.detail, field: field + "." + name)
            }
        }
        let live = try content("live")
        guard let draft = try content("draft") ?? live else {
            throw ServiceError(.invalidBody, "This field is required.", field: field + ".draft")
        }
        return Exchange.Item(key: key, draft: draft, live: live)
    }
}

extension ServiceContext {
    /// The caller, who must be allowed to change at least one kind. The kinds in the body are checked once it is read.
    fileprivate func importer() throws -> Author {
        let kinds = try kinds(may: .update)
        return try author(may: .update, kinds.first?.area ?? .config)
    }
}
