import Hummingbird
import MartletHTTP

/// `GET /collections/{collection}/advice`: slow lists and summaries that this copy of the service has met, and the
/// index that would serve each, unless it is there by now; master key.
struct ListAdvice: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/advice", "listAdvice",
        "Slow lists that this copy of the service has met, and the index that would serve each.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        answers: [
            .answer(200, "The slowest in all first.", .json(.object))
        ])

    let objects: ObjectStore
    let indexes: IndexStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.managedSpace)
        var list = objects.advice.list(of: collection, in: space)
        guard list.contains(where: { $0.index != nil }) else { return try .list(list) }
        let existing = try await indexes.list(on: collection, of: space).filter { $0.state != .failed }.map(
            \.definition)
        for (number, advice) in list.enumerated() {
            let isThere = existing.contains {
                $0.kind.rawValue == advice.index?.kind && $0.fields == advice.index?.fields
            }
            if isThere { list[number].index = nil }
        }
        return try .list(list)
    }
}
