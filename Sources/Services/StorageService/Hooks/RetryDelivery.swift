import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct RetryDelivery: Endpoint {
    static let route = Route(
        .post, "/hooks/{name}/deliveries/{id}/retry", "retryDelivery",
        "Retries a delivery soon. A dead one starts again at its first attempt.", callers: .manager(.update, .storage),
        parameters: [
            .hookName,
            .path("id", .uuid),
        ],
        answers: [
            .answer(202, "The delivery, now waiting.", .json(.delivery))
        ],
        errors: [
            404: "The hook has no such delivery (`delivery-not-found`).",
            409: "It has already been delivered (`conflict`).",
        ])

    let deliveries: DeliveryStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        let id = try context.uuid("id", else: .deliveryNotFound)
        guard let delivery = try await deliveries.retry(id, of: name, in: space) else {
            throw ServiceError(.deliveryNotFound)
        }
        guard delivery.state != .done else { throw ServiceError(.conflict, "It has already been delivered.") }
        return try .encoding(delivery, status: .accepted)
    }
}
