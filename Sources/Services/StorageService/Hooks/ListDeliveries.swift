import Hummingbird
import MartletAPI
import MartletHTTP

struct ListDeliveries: Endpoint {
    static let route = Route(
        .get, "/hooks/{name}/deliveries", "listDeliveries",
        "Lists the past and pending deliveries to an `afterSave`, `afterDelete` or `scanFile` hook, newest first.",
        callers: .manager(.read, .storage),
        parameters: [
            .hookName,
            .query("state", .oneOf("waiting", "done", "dead")),
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "`count`, and the deliveries in `data`.")
        ],
        errors: [404: "The app has no such hook (`hook-not-found`)."])

    let hooks: HookStore
    let deliveries: DeliveryStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        let parameters = request.uri.queryParameters
        let limit = try parameters["limit"].map { try ListQuery.integer($0, "limit", in: 1...100) } ?? 20
        let state: DeliveryRecord.State? = try request.choice("state")
        _ = try await hooks.find(name, of: space)
        return try .list(try await deliveries.list(of: name, state, limit: limit, in: space))
    }
}
