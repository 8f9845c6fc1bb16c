import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListAlertDeliveries: Endpoint {
    static let route = Route(
        .get, "/crashes/alerts/{alert}/deliveries", "listAlertDeliveries",
        "Lists the alert's past and pending deliveries, newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .path("alert", .uuid),
            .query("state", .oneOf("waiting", "done", "dead")),
            .query("before", .uuid),
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "A page of deliveries.", .json(.object))
        ],
        errors: [404: "The app has no such alert (`alert-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let parameters = request.uri.queryParameters
        let states = AlertDeliveryStore.State.allCases.map(\.rawValue)
        let state = try parameters["state"].map { text in
            guard let state = AlertDeliveryStore.State(rawValue: String(text)) else {
                throw ServiceError.unexpectedParameter(
                    "state", expected: "one of \(states.joined(separator: ", "))", found: text)
            }
            return state
        }
        let before = try request.id("before")
        let limit = try context.integer("limit")
        let alert = try context.alert
        guard try await tracking.alerts.store.read(alert, in: space) != nil else { throw ServiceError(.alertNotFound) }
        let list = try await tracking.alerts.deliveries.list(
            of: alert, state, before: before, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

/// Starts again at the first attempt. Mail goes only to recipients who have not received it.
struct RetryAlertDelivery: Endpoint {
    static let route = Route(
        .post, "/crashes/alerts/{alert}/deliveries/{delivery}/retry", "retryAlertDelivery",
        "Retries a delivery that has failed for good.",
        callers: .manager(.update, .crashes),
        parameters: [
            .path("alert", .uuid),
            .path("delivery", .uuid),
        ],
        answers: [
            .answer(202, "The delivery, which is pending again.", .json(.object))
        ],
        errors: [
            404: "The alert has no such delivery (`delivery-not-found`).",
            409: "The delivery succeeded or is still being retried (`conflict`).",
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .update, tracking.spaces)
        guard let id = context.parameters.get("delivery").flatMap({ UUID(uuidString: $0) }),
            let json = try await tracking.alerts.deliveries.retry(id, of: try context.alert, in: space)
        else { throw ServiceError(.deliveryNotFound) }
        var response = Response.json(json)
        response.status = .accepted
        return response
    }
}
