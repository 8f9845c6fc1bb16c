import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /internal/notifications/alerts` with `{"app","environment","id","alert"}`: triggers the app's rules on crash
/// alerts, once per id.
///
/// `alert` is the text of the JSON object that the alert's webhook would receive as `data`. The answer is
/// `{"rules":n}`, the number of rules that acted. For our own services only.
struct ReceiveAlert: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/notifications/alerts")

    static let maximumSizeInBytes = 1 << 20

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(
            request, ["app", "environment", "id", "alert"], upTo: Self.maximumSizeInBytes)
        let app = try fields.requiredString("app")
        guard let environment = AppEnvironment(rawValue: try fields.requiredString("environment")),
            (1...32).contains(app.utf8.count)
        else {
            throw ServiceError(.invalidBody, "App or environment is not valid.", field: "app")
        }
        guard let id = UUID(uuidString: try fields.requiredString("id")) else {
            throw ServiceError(.invalidBody, "Expected a UUID.", field: "id")
        }
        guard let alert = try? JSONValue(parsing: try fields.requiredString("alert").utf8), case .object = alert else {
            throw ServiceError(.invalidBody, "Expected the text of a JSON object.", field: "alert")
        }
        let space = try await rules.spaces.space(of: app, environment)
        return .json(
            #"{"rules":\#(try await rules.trigger(on: Facts(alert: alert), id: id.uuidString.lowercased(), in: space))}"#
        )
    }
}

extension Facts {
    /// The facts of an alert.
    init(alert: JSONValue) {
        guard case .object(let members) = alert else {
            self.init([])
            return
        }
        self.init(members)
    }
}

extension Rules {
    /// Triggers the rules on alerts, each once per id. Returns how many acted.
    func trigger(on facts: Facts, id: String, in space: Space) async throws -> Int {
        let cause = "alert:\(id)"
        var count = 0
        for active in try await store.active(in: space) where active.rule.trigger == .alert {
            let lookUp = RecipientLookUp(storage: storage, space: space)
            guard
                let action = try await actionBuilder.action(
                    active.rule, on: facts, cause: cause, at: now(), lookUp, in: space)
            else { continue }
            let isNew = try await postgres.withTransaction { transaction in
                let name = active.rule.name
                // Concurrent requests with the same alert wait here; the next statement sees what they wrote.
                let locked = try await transaction.query(
                    "SELECT FROM notifications.rules WHERE space = \(space.id) AND name = \(name) FOR UPDATE")
                let known = try await transaction.query(
                    "SELECT FROM notifications.rule_runs WHERE space = \(space.id) AND rule = \(name) AND cause = \(cause) LIMIT 1"
                )
                guard !locked.isEmpty, known.isEmpty else { return false }
                try await performer.perform(action, in: space, transaction)
                return true
            }
            if isNew { count += 1 }
        }
        return count
    }
}
