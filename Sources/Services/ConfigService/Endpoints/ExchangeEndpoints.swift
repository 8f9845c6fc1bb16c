import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /config/export?kind=`: drafts and what is live, as `import` takes them. Without `kind`: all that whoever asks
/// may read.
struct ExportDocuments: Endpoint {
    static let route = Route(
        .get, "/config/export", "exportDocuments", "Drafts and what is live, as import takes them.",
        callers: .documentManagers(.read),
        parameters: [
            .query("kind", .string, "One kind only.")
        ],
        answers: [
            .answer(200, "Done.", .json(.object))
        ])

    let exchange: Exchange

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        var kinds = try context.kinds(may: .read)
        if let name = request.uri.queryParameters["kind"] {
            guard let kind = DocumentKind(rawValue: String(name)) else {
                throw HTTPProblem(.invalidParameter, "There is no such kind of documents.", field: "kind")
            }
            _ = try context.author(may: .read, kind.area)
            kinds = [kind]
        }
        return .json(try await exchange.export(kinds, of: try context.space))
    }
}

/// `POST /config/import?replace=&publish=` with `{"documents":[{"kind","name","draft","live"}]}`: stores all drafts, or
/// nothing.
///
/// With `publish=true` what has `live` is published, one document after the other.
struct ImportDocuments: Endpoint {
    static let route = Route(
        .post, "/config/import", "importDocuments", "Stores all drafts, or nothing.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .query("replace", .boolean, "Documents that are there get the draft, too."),
            .query("publish", .boolean, "What has live is published, one after the other."),
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
            .answer(200, "Done.", .json(.object))
        ],
        errors: [
            409: "The name is taken, or a unique index forbids it (`conflict`).",
            422: "The document has errors: see `findings` (`document-refused`). Nothing was published.",
        ])

    let exchange: Exchange
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = try context.importer()
        let fields = try await BodyFields(request, ["documents"], upTo: Exchange.maximumSizeInBytes)
        guard case .array(let documents)? = fields["documents"], documents.count <= Exchange.maximumDocuments else {
            throw HTTPProblem(
                .invalidBody, "This must be an array of at most \(Exchange.maximumDocuments) documents.",
                field: "documents")
        }
        let items = try documents.enumerated().map { try item($1, "documents.\($0)") }
        guard Set(items.map(\.key)).count == items.count else {
            throw HTTPProblem(.invalidBody, "A document is there twice.", field: "documents")
        }
        for kind in Set(items.map(\.key.kind)) {
            for action in [StaffAction.create, .update] { _ = try context.author(may: action, kind.area) }
        }
        let versions = try await exchange.take(
            items, into: try context.space, replacing: try request.flag("replace"),
            publishing: try request.flag("publish"), by: author)
        return .json(#"{"documents":\#(items.count),"published":[\#(versions.joined(separator: ","))]}"#)
    }

    private func item(_ value: JSONValue, _ field: String) throws -> Exchange.Item {
        let fields = try BodyFields(value, ["kind", "name", "draft", "live"])
        guard let kind = DocumentKind(rawValue: try fields.requiredString("kind")), let published = kinds[kind] else {
            throw HTTPProblem(.invalidBody, "There is no such kind of documents.", field: field + ".kind")
        }
        let key = try DocumentKey(checking: try fields.requiredString("name"), of: kind)
        if let problem = published.problem(withName: key.name) {
            throw HTTPProblem(.invalidBody, problem, field: field + ".name")
        }
        func content(_ name: String) throws -> String? {
            guard let value = fields[name], value != .null else { return nil }
            do {
                try value.checkIsDocument()
                return try value.draft(upTo: published.maximumSizeInBytes)
            } catch let problem as HTTPProblem {
                throw HTTPProblem(problem.code, problem.detail, field: field + "." + name)
            }
        }
        let live = try content("live")
        guard let draft = try content("draft") ?? live else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: field + ".draft")
        }
        return Exchange.Item(key: key, draft: draft, live: live)
    }
}

extension ServiceContext {
    /// Whoever may change at least something; what exactly is looked at when it is known.
    fileprivate func importer() throws -> Author {
        let kinds = try kinds(may: .update)
        return try author(may: .update, kinds.first?.area ?? .config)
    }
}
