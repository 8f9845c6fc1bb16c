import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `POST /collections/{collection}/indexes` with `{"fields":["age","-name"],"kind"?,"name"?,"unique"?,"language"?}`,
/// 201; master key.
///
/// Kinds: `ordered` (comparisons and orders on these fields), `prefix`, `text`, `geo`. Equality needs none. Of a large
/// collection 202 with the job that builds it.
struct CreateIndex: Endpoint {
    static let route = Route(
        .post, "/collections/{collection}/indexes", "createIndex",
        "Makes an index for comparisons and orders, beginnings of texts, words, or places.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        details: """
            Equality needs none. Of a collection with more than 16 MiB of objects the index is built by a job, \
            while reads and writes go on; of a smaller one at once, while writes wait. A collection may have 20 \
            indexes.
            """,
        body: .json(.newIndex),
        answers: [
            .answer(201, "The index, ready.", .json(.index)),
            .answer(202, "The index of a large collection, which a job builds.", .json(.index)),
        ],
        errors: [
            404: "There is no such collection (`collection-not-found`).",
            409: "The name is taken, or a unique index forbids it (`conflict`).",
        ])

    let indexes: IndexStore
    let rights: RightsStore

    private struct Body: Codable {
        var name: String?
        var kind: String?
        var language: String?
        var fields: [String]
        var unique: Bool?
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.managedSpace)
        let body = try await request.decoded(Body.self)
        guard (1...IndexStore.maximumFields).contains(body.fields.count) else {
            throw HTTPProblem(.invalidBody, "An index has 1 to \(IndexStore.maximumFields) fields.", field: "fields")
        }
        guard let kind = IndexDefinition.Kind(rawValue: body.kind ?? "ordered") else {
            throw HTTPProblem(.invalidBody, "A kind is ordered, prefix, text or geo.", field: "kind")
        }
        guard body.language == nil || kind == .text else {
            throw HTTPProblem(.invalidBody, "Only a text index has a language.", field: "language")
        }
        let name = body.name ?? ((kind == .ordered ? [] : [kind.rawValue]) + body.fields).joined(separator: "_")
        guard (1...128).contains(name.utf8.count) else {
            throw HTTPProblem(.invalidName, "An index's name has 1 to 128 bytes.", field: "name")
        }
        guard (body.fields + [name]).allSatisfy({ PostgresLiteral($0) != nil && !$0.contains("\"") }) else {
            throw HTTPProblem(
                .invalidName, "Names in an index have no quote, backslash or control character.", field: "fields")
        }
        let index = IndexDefinition(
            name: name, kind: kind, fields: body.fields, unique: body.unique ?? false,
            language: kind == .text ? body.language ?? TextSearch.defaultLanguage : nil)
        let entry = try await indexes.create(index, on: collection, of: space)
        rights.forget(space)
        return try .encoding(entry, status: entry.state == .ready ? .created : .accepted)
    }
}
