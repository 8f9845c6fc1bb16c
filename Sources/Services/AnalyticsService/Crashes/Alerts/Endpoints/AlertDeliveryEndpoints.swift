import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /crashes/alerts/{alert}/deliveries?state=&before=&limit=`: past and pending deliveries, newest first.
struct ListAlertDeliveries: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(["state", "before", "limit"])
        let parameters = request.uri.queryParameters
        let states = AlertDeliveryStore.State.allCases.map(\.rawValue)
        let state = try parameters["state"].map { text in
            guard let state = AlertDeliveryStore.State(rawValue: String(text)) else {
                throw HTTPProblem(
                    .invalidParameter, "The state must be one of \(states.joined(separator: ", ")).", field: "state")
            }
            return state
        }
        let before = try request.id("before")
        let limit = try request.number("limit", default: 20, in: 1...100)
        let alert = try context.alert
        guard try await life.alerts.store.read(alert, in: space) != nil else { throw HTTPProblem(.alertNotFound) }
        let list = try await life.alerts.deliveries.list(of: alert, state, before: before, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

/// `POST /crashes/alerts/{alert}/deliveries/{delivery}/retry`: retries a dead delivery from the first attempt; 202.
struct RetryAlertDelivery: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .update, life.spaces)
        try request.allowParameters()
        try await request.allowNoBody()
        guard let id = context.parameters.get("delivery").flatMap({ UUID(uuidString: $0) }),
            let json = try await life.alerts.deliveries.retry(id, of: try context.alert, in: space)
        else { throw HTTPProblem(.deliveryNotFound) }
        var response = Response.json(json)
        response.status = .accepted
        return response
    }
}
