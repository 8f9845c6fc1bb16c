import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /hooks/{name}/deliveries/{id}/retry`: tries again soon, a dead one from the first attempt on, 202; master key.
///
/// 409 `conflict` when it was delivered already.
struct RetryDelivery: Endpoint {
    static let route = Route(
        .post, "/hooks/{name}/deliveries/{id}/retry", "retryDelivery",
        "Tries again soon; a dead one from the first attempt on.", callers: .server,
        parameters: [
            .path("name", .string, "A letter, then at most 62 letters, digits, `_` or `-`."),
            .path("id", .uuid),
        ],
        answers: [
            .answer(202, "The delivery.", .json(.delivery))
        ],
        errors: [
            404: "The hook has no such delivery (`delivery-not-found`).", 409: "It has been delivered (`conflict`).",
        ])

    let deliveries: DeliveryStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.managedSpace)
        guard let id = UUID(uuidString: context.component("id")),
            let delivery = try await deliveries.retry(id, of: name, in: space)
        else {
            throw HTTPProblem(.deliveryNotFound)
        }
        guard delivery.state != .done else { throw HTTPProblem(.conflict, "It has been delivered.") }
        return try .encoding(delivery, status: .accepted)
    }
}
