import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// If the request fails, no index is created.
struct CreateIndex: Endpoint {
    static let route = Route(
        .post, "/collections/{collection}/indexes", "createIndex",
        "Creates an index for comparisons and sorting, prefixes, text search or locations.",
        callers: .manager(.create, .storage),
        parameters: [
            .collection
        ],
        details: """
            Filters for equality need no index. If the collection has more than 16 MiB of objects, a job builds the \
            index while reads and writes continue. In a smaller collection the index is built immediately, and writes \
            wait for it. A collection can have up to 20 indexes.
            """,
        body: .json(.newIndex),
        answers: [
            .answer(201, "The index, ready for use.", .json(.index)),
            .answer(202, "The index of a large collection, which a job is building.", .json(.index)),
        ],
        errors: [
            404: "The app has no such collection (`collection-not-found`).",
            409: "An index with this name exists, or objects have the same values in a unique index (`conflict`).",
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
        let (collection, space) = (try context.collection, try context.space)
        let body = try await request.decoded(Body.self)
        guard (1...IndexStore.maximumFields).contains(body.fields.count) else {
            throw ServiceError(
                .invalidBody, "Expected 1 to \(IndexStore.maximumFields) fields, found \(body.fields.count).",
                field: "fields")
        }
        let kindName = body.kind ?? "ordered"
        guard let kind = IndexDefinition.Kind(rawValue: kindName) else {
            throw ServiceError.unexpectedMember("kind", expected: "ordered, prefix, text or geo", found: kindName)
        }
        guard body.language == nil || kind == .text else {
            throw ServiceError(.invalidBody, "Only a text index can have a language.", field: "language")
        }
        let name = body.name ?? ((kind == .ordered ? [] : [kind.rawValue]) + body.fields).joined(separator: "_")
        guard (1...128).contains(name.utf8.count) else {
            throw ServiceError(.invalidName, "An index's name must have 1 to 128 bytes.", field: "name")
        }
        guard (body.fields + [name]).allSatisfy({ PostgresLiteral($0) != nil && !$0.contains("\"") }) else {
            throw ServiceError(
                .invalidName, "Names in an index must not contain quotes, backslashes or control characters.",
                field: "fields")
        }
        let index = IndexDefinition(
            name: name, kind: kind, fields: body.fields, unique: body.unique ?? false,
            language: kind == .text ? body.language ?? TextSearch.defaultLanguage : nil)
        let entry = try await indexes.create(index, on: collection, of: space)
        rights.forget(space)
        return try .encoding(entry, status: entry.state == .ready ? .created : .accepted)
    }
}
