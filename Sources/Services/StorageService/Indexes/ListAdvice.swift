import Hummingbird
import MartletAPI
import MartletHTTP

/// Covers the lists and summaries that all copies of the service have run in the last `SlowQueries.retentionInDays`
/// days. Omits indexes that exist or are being built.
struct ListAdvice: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/advice", "listAdvice",
        "Lists slow queries of a collection, each with an index that would help.", callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(200, "`count`, and the slow queries in `data`, ordered by their total time.", .json(.object))
        ])

    let slowQueries: SlowQueries
    let indexes: IndexStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        var list = try await slowQueries.list(of: collection, in: space)
        guard list.contains(where: { $0.index != nil }) else { return try .list(list) }
        let existing = try await indexes.list(on: collection, of: space).filter { $0.state != .failed }.map(
            \.definition)
        for (number, advice) in list.enumerated() {
            let exists = existing.contains {
                $0.kind.rawValue == advice.index?.kind && $0.fields == advice.index?.fields
            }
            if exists { list[number].index = nil }
        }
        return try .list(list)
    }
}
