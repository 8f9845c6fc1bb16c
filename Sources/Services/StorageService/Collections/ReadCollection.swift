import Hummingbird
import MartletAPI
import MartletHTTP

struct ReadCollection: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}", "readCollection",
        "Returns a collection's size, number of objects, fields and indexes.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(
                200,
                """
                `name`, `count`, `isCountExact`, `sizeInBytes`, `indexSizeInBytes`, `fields` (each with `name`, \
                `types` and `sampled`) and `indexes`.
                """)
        ])

    let collections: CollectionStore
    let indexes: IndexStore
    let rights: RightsStore

    private struct Body: Encodable {
        var name: String
        var summary: CollectionStore.Details
        var fields: [CollectionStore.Field]
        var indexes: [IndexEntry]

        enum Key: CodingKey { case name, count, isCountExact, sizeInBytes, indexSizeInBytes, fields, indexes }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(name, forKey: .name)
            try container.encode(summary.count, forKey: .count)
            try container.encode(summary.isCountExact, forKey: .isCountExact)
            try container.encode(summary.sizeInBytes, forKey: .sizeInBytes)
            try container.encode(summary.indexSizeInBytes, forKey: .indexSizeInBytes)
            try container.encode(fields, forKey: .fields)
            try container.encode(indexes, forKey: .indexes)
        }
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        let summary = try await collections.details(of: collection, of: space)
        let known = try await rights.storedFields(of: [collection], in: space)[collection.text] ?? [:]
        let fields = try await collections.fields(of: collection, of: space, known: known)
        let indexes = try await indexes.list(on: collection, of: space)
        return try .encoding(Body(name: collection.text, summary: summary, fields: fields, indexes: indexes))
    }
}
