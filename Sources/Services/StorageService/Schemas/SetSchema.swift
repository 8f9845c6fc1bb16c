import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletSchema

/// Takes effect at once in all copies of the service, because PostgreSQL refuses writers that do not know the schema.
struct SetSchema: Endpoint {
    static let route = Route(
        .put, "/collections/{collection}/schema", "setSchema",
        "Sets the JSON Schema that the objects of a collection must fit, and creates the collection if it is missing.",
        callers: .manager(.update, .storage),
        parameters: [
            .collection,
            .query(
                "allowExisting", .flag,
                """
                Whether to set the schema even if stored objects do not fit it. They stay as they are until they are \
                written again.
                """
            ),
        ],
        details: """
            From then on, every object must fit the schema after each write. The stored objects are checked first. If \
            one of them does not fit, the schema is not set. In a collection of more than 16 MiB, a job checks them \
            while reads and writes continue.

            The schema is JSON Schema 2020-12 with these keywords: `type`, `enum`, `const`, `properties`, `required`, \
            `additionalProperties`, `propertyNames`, `dependentRequired`, `minProperties`, `maxProperties`, `items`, \
            `prefixItems`, `contains`, `minItems`, `maxItems`, `uniqueItems`, `minLength`, `maxLength`, `pattern`, \
            `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`, `allOf`, `anyOf`, `oneOf`, \
            `not`, `$defs`, and `$ref` to `#/$defs/…`. Annotations such as `title` and `description` have no effect, \
            except `default`, which a new object gets for an absent member. Any other keyword is an error.

            Extensions: `type` may also be `Date`, `Pointer`, `Relation`, `GeoPoint`, `Polygon`, `File` or `Bytes`, \
            for values with that `__type`. `className` beside it names the collection, or collections, of a Pointer or \
            Relation. The server's own fields, such as `_id`, are not part of what is checked.
            """,
        body: .json(.jsonSchema, text: "The schema, at most 64 KiB."),
        answers: [
            .answer(200, "The schema is in effect.", .json(.schemaReport)),
            .answer(202, "The job that checks the objects of a large collection and sets the schema.", .json(.job)),
        ],
        errors: [
            409: "Stored objects do not fit; `findings` lists the first 20 by id (`conflict`).",
            422: "The schema has an error; `field` is its JSON Pointer (`document-refused`).",
        ])

    let schemas: SchemaStore
    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        let allowExisting = try ListQuery.flag("allowExisting", in: request)
        let body = try await request.json(upTo: JSONSchema.maximumSizeInBytes)
        let schema = try Self.schema(body)
        guard try await schemas.canCheckImmediately(collection, in: space) else {
            let options = CheckSchema.Options(
                space: SpaceName(space), collection: collection.text, schema: schema.text, allowExisting: allowExisting)
            return try await .job(try await start(options, space), transfers, space, status: .accepted)
        }
        do {
            return try .encoding(
                try await schemas.set(schema, on: collection, of: space, allowingExisting: allowExisting))
        } catch let refusal as SchemaReport.Refusal {
            throw refusal.problem
        }
    }

    private func start(_ parameters: CheckSchema.Options, _ space: AppSchema) async throws -> UUID {
        try await transfers.checkNumberOfJobs(of: space)
        var options = transfers.options(space)
        options.uniqueKey = "\(space.schema) \(parameters.collection)"
        guard let job = try await transfers.jobs.enqueue(CheckSchema.self, parameters, options) else {
            throw ServiceError(.conflict, "A schema for this collection is already being checked.")
        }
        return job
    }

    private static func schema(_ body: JSONValue) throws -> JSONSchema {
        let schema: JSONSchema
        do {
            schema = try JSONSchema(parsing: body.text.utf8)
        } catch {
            throw ServiceError(
                .documentRefused, error.message, field: error.pointer,
                findings: [.init(.error, "invalid-schema", at: error.pointer, error.message)])
        }
        try refuseSystemFields(in: body, of: body, at: "")
        return schema
    }

    /// System fields are not part of what is checked, so a rule for them would never hold or never matter.
    ///
    /// - Parameters:
    ///   - part: A schema that applies to whole objects: the root, or one that it refers to or combines.
    ///   - root: A schema that `JSONSchema` has accepted, so that no reference leads back.
    private static func refuseSystemFields(in part: JSONValue, of root: JSONValue, at pointer: String) throws {
        guard case .object(let keywords) = part else { return }
        for keyword in keywords {
            let place = "\(pointer)/\(keyword.name)"
            switch (keyword.name, keyword.value) {
            case ("properties", .object(let members)):
                for member in members { try refuse(member.name, at: "\(place)/\(member.name)") }
            case ("required", .array(let names)):
                for case .string(let name) in names { try refuse(name, at: place) }
            case ("dependentRequired", .object(let members)):
                for member in members {
                    try refuse(member.name, at: place)
                    guard case .array(let names) = member.value else { continue }
                    for case .string(let name) in names { try refuse(name, at: place) }
                }
            case ("allOf", .array(let parts)), ("anyOf", .array(let parts)), ("oneOf", .array(let parts)):
                for (index, part) in parts.enumerated() {
                    try refuseSystemFields(in: part, of: root, at: "\(place)/\(index)")
                }
            case ("not", let part): try refuseSystemFields(in: part, of: root, at: place)
            case ("$ref", _):
                guard let name = JSONSchema.definitionName(in: part), let definition = root["$defs"]?[name] else {
                    continue
                }
                try refuseSystemFields(in: definition, of: root, at: "/$defs/\(JSONPointer.escape(name))")
            default: continue
            }
        }
    }

    private static func refuse(_ field: String, at place: String) throws {
        guard SystemField(rawValue: field) != nil else { return }
        throw ServiceError(
            .documentRefused, "The server maintains the field \(field), so a schema cannot describe it.", field: place)
    }
}
