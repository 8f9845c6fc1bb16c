import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /hooks/{name}/deliveries/{id}/retry`: tries again soon, a dead one from the first attempt on, 202; master key.
///
/// 409 `conflict` when it was delivered already.
struct RetryDelivery: Endpoint {
    let deliveries: DeliveryStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (name, space) = (try context.hookName, try context.managedSpace)
        try await request.allowNoBody()
        guard let id = UUID(uuidString: context.component("id")),
            let delivery = try await deliveries.retry(id, of: name, in: space)
        else {
            throw HTTPProblem(.deliveryNotFound)
        }
        guard delivery.state != .done else { throw HTTPProblem(.conflict, "It has been delivered.") }
        return try .encoding(delivery, status: .accepted)
    }
}
