import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Finds objects by id and the members of relation fields, as the app's own server sees them. For our own processes
/// only.
///
/// The request is
/// `{"app","environment","objects":[{"collection","id","keys"?}],"relations":[{"collection","id","field"}]}`. The
/// answer is `{"objects":[…],"relations":[[ids…]]}` in the order of the request, with null for objects that do not
/// exist.
struct LookUpObjects: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/objects")

    static let maximumObjects = 500
    static let maximumRelations = 100

    let lookUp: ObjectLookUp

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await BodyFields(request, ["app", "environment", "objects", "relations"], upTo: 256 << 10)
        let space = try AppSchema(body)
        let objects = try Self.list(body, "objects", upTo: Self.maximumObjects, ["collection", "id", "keys"]) {
            fields in
            ObjectLookUp.Object(
                collection: try CollectionName(try fields.requiredString("collection")),
                id: try ObjectID(try fields.requiredString("id")).text,
                keys: try fields.strings("keys", upTo: 20))
        }
        let relations = try Self.list(body, "relations", upTo: Self.maximumRelations, ["collection", "id", "field"]) {
            fields in
            ObjectLookUp.Relation(
                collection: try CollectionName(try fields.requiredString("collection")),
                id: try ObjectID(try fields.requiredString("id")).text,
                field: try fields.requiredString("field"))
        }
        let found = try await lookUp.objects(objects, in: space)
        let members = try await lookUp.members(of: relations, in: space)
        let lists = members.map { "[" + $0.map(JSONValue.quote).joined(separator: ",") + "]" }
        return .json(
            #"{"objects":[\#(found.map { $0 ?? "null" }.joined(separator: ","))],"relations":[\#(lists.joined(separator: ","))]}"#
        )
    }

    private static func list<Element>(
        _ body: BodyFields, _ name: String, upTo limit: Int, _ known: Set<String>,
        _ element: (BodyFields) throws -> Element
    ) throws -> [Element] {
        guard let value = body[name], value != .null else { return [] }
        guard case .array(let values) = value, values.count <= limit else {
            let found = if case .array(let values) = value { "\(values.count)" } else { value.phrase }
            throw ServiceError(
                .invalidBody, "Expected an array of at most \(limit) elements, found \(found).", field: name)
        }
        return try values.map { try element(try BodyFields($0, known)) }
    }
}
