import Hummingbird
import MartletAPI
import MartletHTTP

/// Includes indexes that are being built and those whose build failed.
struct ListIndexes: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/indexes", "listIndexes",
        "Lists the collection's indexes that were created by `createIndex`.", callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(
                200, "The indexes that are ready, in the order of their creation, and then the others.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .index),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "The app has no such collection (`collection-not-found`)."])

    let indexes: IndexStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await indexes.list(on: context.collection, of: context.space))
    }
}
