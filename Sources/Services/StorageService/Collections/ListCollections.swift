import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

struct ListCollections: Endpoint {
    static let route = Route(
        .get, "/collections", "listCollections", "Lists the app's collections.", callers: .manager(.read, .storage),
        answers: [
            .answer(
                200, "The collections, ordered by name.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .collection),
                        ], required: ["count", "data"])))
        ])

    let collections: CollectionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await collections.list(of: context.space))
    }
}
