import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `POST /collections/{collection}/indexes` with `{"fields":["age","-name"],"name"?,"unique"?}`, 201; master key.
///
/// Serves comparisons and orders on these fields. Equality needs none.
struct CreateIndex: Endpoint {
    let indexes: IndexStore

    private struct Body: Codable {
        var name: String?
        var fields: [String]
        var unique: Bool?
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (collection, space) = (try context.collection, try context.managedSpace)
        let body = try await request.decoded(Body.self)
        guard (1...IndexStore.maximumFields).contains(body.fields.count) else {
            throw HTTPProblem(.invalidBody, "An index has 1 to \(IndexStore.maximumFields) fields.", field: "fields")
        }
        let name = body.name ?? body.fields.joined(separator: "_")
        guard (1...128).contains(name.utf8.count) else {
            throw HTTPProblem(.invalidName, "An index's name has 1 to 128 bytes.", field: "name")
        }
        guard (body.fields + [name]).allSatisfy({ PostgresLiteral($0) != nil && !$0.contains("\"") }) else {
            throw HTTPProblem(.invalidName, "Names in an index have no quote, backslash or control character.", field: "fields")
        }
        let index = IndexStore.Definition(name: name, fields: body.fields, unique: body.unique ?? false)
        try await indexes.create(index, on: collection, of: space)
        return try .encoding(index, status: .created)
    }
}
